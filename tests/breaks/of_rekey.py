"""Breaks of the re-key of objects."""

from __future__ import annotations

from tests.breaks.running import Break

_TASKS = "unit/capabilities/rekey/test_tasks.py::"
_KEYS = "unit/capabilities/rekey/test_keys.py::"
_PLAN = "unit/capabilities/rekey/test_plan_objects.py::"
_ENGINE = "engines/test_rekey_objects.py::"
_REPLACES = f"{_TASKS}test_a_copy_never_replaces_what_somebody_wrote_since_the_listing"

BREAKS = (
    Break(
        "a copy replaces a new object at its key",
        "capabilities/rekey/tasks.py",
        'else {"IfNoneMatch": "*"}',
        "else {}",
        _REPLACES,
    ),
    Break(
        "a copy replaces another version of its target",
        "capabilities/rekey/tasks.py",
        '{"IfMatch": new_etag} if new_etag',
        "{} if new_etag",
        _REPLACES,
    ),
    Break(
        "a copy takes another version of the object than the listed one",
        "capabilities/rekey/tasks.py",
        "CopySource=source, CopySourceIfMatch=etag, StorageClass",
        "CopySource=source, StorageClass",
        _REPLACES,
    ),
    Break(
        "a copy forgets the storage class",
        "capabilities/rekey/tasks.py",
        "CopySourceIfMatch=etag, StorageClass=storage_class, **condition",
        "CopySourceIfMatch=etag, **condition",
        f"{_TASKS}test_a_copy_keeps_what_belongs_to_the_object[False]",
    ),
    Break(
        "a copy in parts forgets the tags",
        "capabilities/rekey/tasks.py",
        "    if tags:",
        "    if False:",
        f"{_TASKS}test_a_copy_keeps_what_belongs_to_the_object[True]",
    ),
    Break(
        "parts of a copy that failed stay",
        "capabilities/rekey/tasks.py",
        "        s3.abort_multipart_upload(**upload)\n",
        "",
        f"{_TASKS}test_a_copy_in_parts_that_fails_leaves_no_parts",
    ),
    Break(
        "a refused copy is lost",
        "capabilities/rekey/tasks.py",
        "                    again.append(row)\n",
        "",
        f"{_TASKS}test_a_storm_of_refusals_slows_copies_and_loses_none",
    ),
    Break(
        "an object whose twin changed is deleted",
        "capabilities/rekey/tasks.py",
        'if s3.head_object(Bucket=bucket, Key=new_key)["ETag"] != new_etag:',
        "if False:",
        f"{_TASKS}test_only_an_object_that_the_manifest_names_is_deleted",
    ),
    Break(
        "an object that tasks of a killed run delete at the same time stops the clean-up",
        "capabilities/rekey/tasks.py",
        "            if _status(error) != 404:  # A run",
        "            if True:  # A run",
        f"{_TASKS}test_an_object_that_others_delete_at_the_same_time_is_deleted",
    ),
    Break(
        "an object is deleted that was replaced in the last moment",
        "capabilities/rekey/tasks.py",
        "Key=key, IfMatch=etag)\n        except",
        "Key=key)\n        except",
        f"{_TASKS}test_an_object_that_is_replaced_in_the_last_moment_stays",
    ),
    Break(
        "two objects may get one key",
        "capabilities/rekey/keys.py",
        "if missing := [name for name in names if name not in whole]:",
        "if missing := []:",
        f"{_KEYS}test_templates_that_could_lose_an_object_are_refused",
    ),
    Break(
        "a newer twin is replaced",
        "capabilities/rekey/inventory.py",
        ' AND coalesce(new_modified, 0) <= modified"',
        '"',
        f"{_ENGINE}test_a_newer_twin_is_not_replaced",
    ),
    Break(
        "objects are deleted although others than in the manifest are there",
        "capabilities/rekey/cleaning.py",
        'if digest_of(rows) != manifest["digest"] or counts.same < counts.all:',
        "if False:",
        f"{_ENGINE}test_nothing_is_deleted_while_one_object_is_missing_altered_or_newer",
    ),
    Break(
        "a clean-up that stopped deletes what was written since",
        "capabilities/rekey/cleaning.py",
        "if others := [line for line in lines if line not in begun]:",
        "if others := []:",
        f"{_ENGINE}test_a_clean_up_that_stopped_goes_on_with_what_is_left",
    ),
    Break(
        "another manifest than the named one is approved",
        "capabilities/rekey/approval.py",
        'if manifest not in (None, present["digest"]):',
        "if False:",
        f"{_PLAN}test_a_deletion_is_approved_by_the_digest_of_its_manifest",
    ),
)
