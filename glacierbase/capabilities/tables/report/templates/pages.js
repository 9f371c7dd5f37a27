// Pages. Each returns its title and its content.

var LATEST = 10;

function problems(catalog) {
  return [
    catalog.skipped ? note("Skipped: " + catalog.skipped) : null,
    catalog.error ? failure("Not read: " + catalog.error.code + ": " + catalog.error.message) : null,
    catalog.warnings.map(function (each) { return note("Warning: " + each); })
  ];
}
function isKnown(catalog) { return !catalog.skipped && !catalog.error; }
function mattering(catalog) { return catalog.drifts.filter(matter).length; }
function overview() {
  function sum(of) { return known().reduce(function (total, each) { return total + of(each); }, 0); }
  var pending = sum(function (each) { return each.pending.length; }), drift = sum(mattering);
  var unread = data.catalogs.length - known().length, isDriftKnown = known().every(function (each) { return !each.drift_unknown; });
  return [data.name, [
    make("h1", {}, data.name),
    figures([
      [sum(function (each) { return living(each).length; }), "tables", "#dictionary"],
      [sum(function (each) { return each.migrations.length; }), "migrations"],
      [pending, "pending", "#pending", pending > 0],
      [isDriftKnown ? drift : drift + "+", "drift", "#drift", drift > 0]
    ].concat(unread ? [[unread, "not read", null, true]] : [])),
    data.catalogs.map(function (each) {
      var found = problems(each).filter(function (part) { return part && (!Array.isArray(part) || part.length); });
      return found.length ? make("section", { "aria-label": title(each) }, [make("h2", {}, title(each)), found]) : null;
    }),
    make("h2", {}, "Catalogs"),
    table(count(data.catalogs.length, "catalog"), ["catalog", "environment", "tables", "migrations", "pending", "drift", "as of"], data.catalogs, function (each) {
      var name = link([each.catalog], each.catalog);
      if (!isKnown(each)) { return [name, each.environment, "not read", "not read", "not read", "not read", null]; }
      return [
        name, each.environment, living(each).length, each.migrations.length,
        each.pending.length ? make("a", { href: "#pending" }, String(each.pending.length)) : "0",
        each.drift_unknown ? "not known" : make("a", { href: "#drift" }, String(mattering(each))),
        time(each.read_at)
      ];
    }),
    newest()
  ]];
}
function newest() {
  var applied = [];
  known().forEach(function (catalog) {
    catalog.migrations.forEach(function (each) {
      if (each.status.applied_at) { applied.push([each.status.applied_at, catalog, each.status]); }
    });
  });
  applied.sort(function (one, other) { return one[0] < other[0] ? 1 : one[0] > other[0] ? -1 : 0; });
  return applied.length ? [make("h2", {}, "Latest migrations"), table("The " + Math.min(LATEST, applied.length) + " that ran last", ["version", "catalog", "state", "description", "author", "applied"], applied.slice(0, LATEST), function (each) {
    var status = each[2];
    return [link([each[1].catalog, "", status.version], status.version), each[1].catalog, stateOf(status), status.description, status.author, time(status.applied_at)];
  })] : null;
}
function catalogPage(catalog) {
  return [title(catalog), [
    path([make("a", { href: "#/" }, data.name)], catalog.catalog),
    make("h1", {}, title(catalog)), problems(catalog),
    isKnown(catalog) ? catalogTables(catalog) : null
  ]];
}
function catalogTables(catalog) {
  var dropped = catalog.tables.filter(function (each) { return each.dropped; }), tables = living(catalog);
  function when(each, since) { return [day(since.day), " ", versionLink(catalog, each, since.version)]; }
  return [
    make("h2", {}, "Tables"),
    table(count(tables.length, "table"), ["table", "columns", "comment", "last change", "by", "why"], tables, function (each) {
      var last = each.changes[0];
      return [named(catalog, each.name), partsOf(each, "column").length, each.comment || null].concat(
        last ? [when(each, last.since), last.since.author, last.since.why] : [null, null, null]);
    }),
    dropped.length ? [make("h2", {}, "Dropped tables"), table(count(dropped.length, "table"), ["table", "dropped", "by", "why"], dropped, function (each) {
      return [named(catalog, each.name), when(each, each.dropped), each.dropped.author, each.dropped.why];
    })] : null,
    make("h2", {}, "Migrations"), migrationTable(catalog, catalog.migrations.slice().reverse(), "newest first")
  ];
}
function migrationTable(catalog, migrations, order) {
  return table(count(migrations.length, "migration") + ", " + order, ["version", "state", "description", "author", "applied"], migrations, function (each) {
    var status = each.status;
    return [link([catalog.catalog, "", status.version], status.version), stateOf(status), status.description, status.author, time(status.applied_at)];
  });
}
function versionLink(catalog, tableOf, version) {
  return version === null ? "" : link([catalog.catalog, tableOf ? tableOf.name : "", version], version);
}
function tablePage(catalog, each) {
  var columns = partsOf(each, "column");
  var others = each.parts.filter(function (part) { return part.kind !== "column"; });
  function row(part) {
    var what = part.kind === "column" ? part.name : (part.kind + " " + part.name).trim();
    var comment = part.kind === "column" ? [commentOf(part)] : [];
    return [code(what), code(part.type + (part.required ? " required" : ""))].concat(comment, [
      day(part.since.day), versionLink(catalog, each, part.since.version),
      part.since.author, [part.was ? part.was + ": " : null, part.since.why]
    ]);
  }
  var headers = ["since", "version", "author", "why"];
  var drifts = catalog.drifts.filter(function (drift) { return drift.table === each.name; });
  var unread = find(catalog.unread, function (one) { return one.table === each.name; });
  return [each.name, [
    path([make("a", { href: "#/" }, data.name), link([catalog.catalog], title(catalog))], each.name),
    make("h1", {}, each.name), about(each.comment),
    each.former_names.length ? make("p", {}, "Formerly " + each.former_names.join(", ")) : null,
    each.dropped ? note(["Dropped on " + each.dropped.day + ": ", each.dropped.why, " ", versionLink(catalog, each, each.dropped.version), ". Below is what it was before."]) : null,
    each.not_recorded.length ? note("Not recorded: " + each.not_recorded.join(", ") + " changed it and left no record; what it changed is not shown.") : null,
    unread ? note("Not compared with its record: " + unread.why) : null,
    strip(catalog, each),
    drifts.length ? [make("h2", {}, "Drift"), driftTable(catalog, drifts, false)] : null,
    make("h2", {}, "Columns"), table(count(columns.length, "column") + ", by the last record", ["column", "type", "comment"].concat(headers), columns, row),
    make("h2", {}, "Partitions, order and properties"), table("By the last record", ["what", "type"].concat(headers), others, row),
    make("h2", {}, "Timeline"),
    table(count(each.changes.length, "change") + ", newest first", ["when", "version", "author", "why", "change"], each.changes, function (change) {
      return [day(change.since.day), versionLink(catalog, each, change.since.version), change.since.author, change.since.why, [make("div", { "class": "faint" }, change.change), lines(change.diff)]];
    })
  ]];
}
// As `compare` calls them.
var CAUSES = {
  outside: "not from a migration", unexplained: "neither versions nor variables explain it", versions: "as the versions are", variables: "by their variables"
};
function isByDesign(differences) {
  return differences.every(function (each) { return each.cause === "variables"; });
}
function causeOf(difference) {
  return CAUSES[difference.cause] + (difference.versions.length ? ": " + difference.versions.join(", ") : "");
}
function byCause(differences) {
  var causes = differences.map(causeOf).filter(function (cause, at, all) { return all.indexOf(cause) === at; });
  return causes.map(function (cause) {
    return [lines(differences.filter(function (each) { return causeOf(each) === cause; })), make("div", { "class": "faint" }, cause)];
  });
}
function strip(catalog, each) {
  var compared = comparedNamed(catalog.catalog);
  if (!compared) { return null; }
  var found = find(compared.tables, function (one) {
    return one.table === each.name || keysOf(one.names).some(function (name) { return one.names[name] === each.name; });
  });
  return [make("h2", {}, "Environments"), make("ul", { "class": "strip" }, compared.environments.map(function (one) {
    var differences = found ? found.differences.filter(function (difference) { return difference.environment === one.name; }) : [];
    var verdict = one.error || one.skipped || !found || found.verdict === "unknown" ? make("span", { "class": "faint" }, "not known")
      : differences.length ? [state(isByDesign(differences) ? "by design" : "differs"), byCause(differences)] : state("equal");
    return make("li", {}, [make("strong", {}, one.name), " ", verdict]);
  }))];
}
function migrationPage(catalog, name, migration) {
  var status = migration.status, run = migration.run;
  var known = [["state", [stateOf(status), status.stopped_at ? " at statement " + status.stopped_at + " of " + status.statements_total : null]],
    ["done", status.statements_done + (status.statements_total === null ? "" : "/" + status.statements_total) + " statements"],
    ["author", status.author]];
  keysOf(status.headers).forEach(function (header) { known.push([header, status.headers[header]]); });
  known.push(["file", status.path], ["applied at", time(status.applied_at)]);
  if (status.replaces.length) { known.push(["replaces", status.replaces.join(", ")]); }
  migration.allows.forEach(function (allow) { known.push(["allows " + allow.code, "at statement " + allow.statement_index + ": " + allow.reason]); });
  if (run) {
    known.push(["run", run.run_id], ["user", run.os_user === null && run.host === null && !run.ci_actor ? null : (run.ci_actor ? run.ci_actor + ", " : "") + (run.os_user || "?") + "@" + (run.host || "?")], ["principal", run.principal],
      ["engine", run.engine], ["commit", run.git_commit], ["ci", run.ci_url], ["plan", run.plan]);
  }
  return [status.version + " " + (status.description || ""), [
    path([make("a", { href: "#/" }, data.name), link([catalog.catalog], title(catalog))].concat(name ? [link([catalog.catalog, name], name)] : []), status.version),
    make("h1", {}, [make("span", { "class": "version" }, status.version), " ", status.description]),
    status.note ? note(status.note) : null,
    status.error_message && status.state !== "applied" ? failure("Error: " + status.error_message) : null,
    migration.next ? way(prose("Next: " + migration.next)) : null,
    facts(known),
    migration.tables.length ? [make("h2", {}, "Tables"), migration.tables.map(function (each) {
      var shown = find(catalog.tables, function (one) { return one.name === each.table; });
      return [make("h3", {}, [shown ? link([catalog.catalog, each.table], each.table) : each.table, ": " + (each.unread !== null ? "not recorded: " + each.unread : each.change),
        each.unread === null && each.origin !== "migration" ? " (" + (FOUND[each.origin] || each.origin) + ")" : null]), lines(each.diff)];
    })] : null,
    make("h2", {}, "Statements"),
    migration.statements.map(function (each) { return [make("p", { "class": "statement" }, [make("span", { "class": "faint" }, each.index + ", line " + each.line + " "), state(each.state)]), make("pre", {}, each.sql)]; }),
    migration.events.length ? [make("h2", {}, "Events"), table(count(migration.events.length, "event"), ["at", "event", "statement", "user", "run", "why"], migration.events, function (each) {
      return [time(each.at), each.event, each.statement, each.user, code(each.run_id.slice(0, 8)), each.why];
    })] : null
  ]];
}
var FOUND = {
  "outside": "found before it, not from a migration", "during": "while it ran, not by it", "baseline": "found at baseline",
  "not recorded": "found before it, not recorded"
};
function notRead() {
  return data.catalogs.filter(function (each) { return each.error; }).map(function (each) { return failure(title(each) + " was not read: " + each.error.code); });
}
function pendingPage() {
  return ["Pending", [make("h1", {}, "Pending"), notRead(), known().map(function (catalog) {
    var pending = catalog.pending.map(function (version) { return byVersion(catalog, version); });
    return [make("h2", {}, title(catalog)), pending.length ? migrationTable(catalog, pending, "in order") : make("p", { "class": "empty" }, "Nothing is pending."),
      pending.filter(function (each) { return each.status.state !== "pending" && each.next; }).map(function (each) { return way([each.status.version + ", " + each.status.state.replace(/_/g, " ") + ". Next: "].concat(prose(each.next))); })];
  })]];
}
function driftTable(catalog, drifts, isNamed) {
  return table(count(drifts.length, "difference"), (isNamed ? ["table", "what"] : ["what"]).concat(["record", "now", "how it matters", "since", "by"]), drifts, function (each) {
    var cells = [code(each.what), code(each.expected === null ? "nothing" : each.expected), code(each.actual === null ? "nothing" : each.actual),
      [state(each["class"]), each.reason ? ": " + each.reason : null], [each.is_bound ? "\u2264 " : null, time(each.since)], each.by];
    return isNamed ? [named(catalog, each.table)].concat(cells) : cells;
  });
}
function driftPage() {
  return ["Drift", [make("h1", {}, "Drift"), make("p", {}, "Changes that no migration made."), notRead(), known().map(function (catalog) {
    var shown = catalog.drifts.filter(function (each) { return each["class"] !== "kept by the engine"; });
    return [make("h2", {}, title(catalog)), catalog.drift_unknown ? note("Not known: " + catalog.drift_unknown) : [
      make("p", {}, count(catalog.drift_compared, "table") + " compared with their records, " + count(catalog.unmanaged.length, "table") + " beside them are unmanaged."),
      shown.length ? driftTable(catalog, shown, true) : make("p", { "class": "empty" }, "No difference."),
      catalog.drift_next.map(function (each) { return way(prose(each)); }),
      catalog.unread.map(function (each) { return note(each.table + ": not compared: " + each.why); }),
      catalog.unmanaged.length ? table("Tables that no migration made, or that are left to others", ["table", "reason"], catalog.unmanaged, function (each) { return [each.table, each.reason]; }) : null]];
  })]];
}
function comparePage() {
  if (!data.compared.length) {
    return ["Compare", [make("h1", {}, "Compare"), make("p", { "class": "empty" }, prose("No environments were compared: name two or more, as in `report -o FILE dev prod`."))]];
  }
  return ["Compare", [make("h1", {}, "Compare"), data.compared.map(function (each) {
    var names = each.environments.map(function (one) { return one.name; }), unread = Object.create(null);
    each.environments.forEach(function (one) { unread[one.name] = one.skipped || one.error; });
    var equal = each.versions.filter(function (one) { return one.verdict === "equal"; }).length;
    var shown = each.versions.filter(function (one) { return one.verdict !== "equal"; }).concat(
      each.versions.filter(function (one) { return one.verdict === "equal"; }));
    var tables = [];
    each.tables.forEach(function (one) { one.differences.forEach(function (difference) { tables.push([one, difference]); }); });
    return [make("h2", {}, each.catalog), each.skipped ? note("Not compared: " + each.skipped) : null,
      each.environments.map(function (one) { if (each.skipped && !one.error) { return null; } var why = one.skipped || (one.error ? one.error.code + ": " + one.error.message : null); return why ? (one.error ? failure : note)(one.name + ": not compared: " + why) : one.file ? make("p", { "class": "faint" }, [one.name + ": from " + one.file + ", as of ", time(one.read_at)]) : null; }),
      each.warnings.map(function (one) { return note("Warning: " + one); }),
      shown.length ? make("h3", {}, "Versions") : null,
      shown.length ? table(count(shown.length, "version") + ", " + equal + " equal; the others first", ["version"].concat(names, ["verdict", "description"]), shown, function (one) {
        return [catalogNamed(each.catalog) && byVersion(catalogNamed(each.catalog), one.version) ? link([each.catalog, "", one.version], one.version) : one.version].concat(
          names.map(function (name) { return name in one.states ? [stateOf(one.states[name]), " ", time(one.states[name].applied_at)] : make("span", { "class": "faint" }, unread[name] ? "not read" : "not known there"); }), [state(one.verdict), one.description]);
      }) : null,
      each.skipped ? null : make("h3", {}, "Tables"),
      each.skipped ? null : make("p", {}, count(each.tables.length, "table") + ": " + each.tables.filter(function (one) { return one.verdict === "equal"; }).length + " equal."),
      tables.length ? table(count(tables.length, "difference"), ["table", "environment", "difference", "why"], tables, function (pair) {
        return [pair[0].table, pair[1].environment, code(line(pair[1])), causeOf(pair[1])];
      }) : null];
  })]];
}
