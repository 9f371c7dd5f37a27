"use strict";
(function () {
  // Texts come from files and catalogs: they enter the page as text nodes only.
  var packed = JSON.parse(document.getElementById("data").textContent);
  var opened = [], kinds = [], NODE = Symbol("node");

  // Nodes are opened when they are read: see packed.py.
  function open(reference) {
    if (reference === null) { return null; }
    if (reference < 0) { return -1 - reference; }
    var node = packed.nodes[reference];
    if (typeof node === "string") { return node; }
    if (!opened[reference]) {
      opened[reference] = node[0] === -1 ? node.slice(1).map(open) : objectOf(node[0], node);
    }
    return opened[reference];
  }
  // The objects of a shape share getters: there are many thousands of them.
  function objectOf(shape, node) {
    if (!kinds[shape]) {
      var kind = kinds[shape] = Object.create(null);
      packed.shapes[shape].forEach(function (key, index) {
        Object.defineProperty(kind, key, { get: function () { return open(this[NODE][index + 1]); } });
      });
    }
    var made = Object.create(kinds[shape]);
    made[NODE] = node;
    return made;
  }
  function keysOf(object) { return packed.shapes[object[NODE][0]]; }

  var data = open(packed.root);
  var MOST = 200;
  var main = document.getElementById("main");

  // Elements.
  function make(tag, attributes, children) {
    var element = document.createElement(tag);
    Object.keys(attributes || {}).forEach(function (name) { element.setAttribute(name, attributes[name]); });
    append(element, children);
    return element;
  }
  function append(element, children) {
    (Array.isArray(children) ? children : [children]).forEach(function (child) {
      if (child === null || child === undefined) { return; }
      if (Array.isArray(child)) { append(element, child); return; }
      element.appendChild(child instanceof Node ? child : document.createTextNode(String(child)));
    });
  }
  function link(parts, text) { return make("a", { href: place(parts) }, text); }
  function place(parts) { return "#/" + parts.map(encodeURIComponent).join("/"); }
  function code(text) { return make("span", { "class": "code" }, text); }
  function note(text) { return make("p", { "class": "note" }, text); }
  function count(number, noun) { return number + " " + noun + (number === 1 ? "" : "s"); }
  function time(text) {
    return text ? make("time", { datetime: text }, text.slice(0, 19).replace("T", " ") + " UTC") : null;
  }
  function day(text) { return make("span", { "class": "day" }, text); }
  // The first cell of a row is its header. Long tables show a part, and all of it on request.
  function table(caption, headers, rows, cells) {
    var body = make("tbody");
    function fill(from, to) {
      rows.slice(from, to).forEach(function (row) {
        append(body, make("tr", {}, cells(row).map(function (cell, index) {
          return index ? make("td", {}, cell) : make("th", { scope: "row" }, cell);
        })));
      });
    }
    fill(0, MOST);
    var made = make("table", {}, [
      make("caption", {}, caption),
      make("thead", {}, make("tr", {}, headers.map(function (text) { return make("th", { scope: "col" }, text); }))),
      body
    ]);
    var wide = make("div", { "class": "wide", tabindex: "0", role: "region", "aria-label": caption }, made);
    if (rows.length <= MOST) { return wide; }
    var more = make("button", { type: "button" }, "Show all " + rows.length);
    more.addEventListener("click", function () { fill(MOST, rows.length); more.remove(); wide.focus(); });
    return [wide, more];
  }

  // Words for states, each with a sign: colours only repeat what the words say.
  var GOOD = ["applied", "equal", "done"], CARE = ["pending", "out_of_order", "running", "behind", "property", "not recorded", "variables", "baselined", "versions", "interrupted", "missing", "ahead", "abandoned", "by design"];
  function state(name) {
    var kind = GOOD.indexOf(name) >= 0 ? "good" : CARE.indexOf(name) >= 0 ? "care" : name === "ignored" || name === "kept by the engine" ? "faint" : "bad";
    var sign = { good: "\u2713 ", care: "\u25cb ", bad: "\u2717 ", faint: "" }[kind];
    return make("span", { "class": kind }, sign + String(name).replace(/_/g, " "));
  }
  function stateOf(status) { return state(status.state === "applied" && status.applied_by === "baseline" ? "baselined" : status.state); }
  function line(difference) {
    var subject = (difference.what + " " + difference.name).trim(), before = difference.before, after = difference.after;
    if (before !== null && after !== null) { return "~ " + subject + ": " + before + " -> " + after; }
    return (before === null ? "+ " : "- ") + subject + ": " + (after === null ? before : after);
  }
  function lines(differences) {
    return make("ul", { "class": "plain" }, differences.map(function (each) {
      var kind = each.before === null ? "good" : each.after === null ? "bad" : "code";
      return make("li", { "class": "code " + kind }, [line(each), each.destructive ? " (destroys data)" : null]);
    }));
  }

  function catalogNamed(name) { return find(data.catalogs, function (each) { return each.catalog === name; }); }
  function comparedNamed(name) { return find(data.compared, function (each) { return each.catalog === name; }); }
  function find(list, test) { return list.filter(test)[0] || null; }
  function known() { return data.catalogs.filter(function (each) { return !each.skipped && !each.error; }); }
  function matter(drift) { return drift["class"] === "structural" || drift["class"] === "property"; }
  function title(catalog) { return catalog.catalog + (catalog.environment ? " (" + catalog.environment + ")" : ""); }
  function path(parts, last) {
    var items = [];
    parts.forEach(function (each) { items.push(each, " / "); });
    return make("p", { "class": "path" }, items.concat([last]));
  }
  function byVersion(catalog, version) {
    return find(catalog.migrations, function (each) { return each.status.version === version; });
  }
  function problems(catalog) {
    return [
      catalog.skipped ? note("Skipped: " + catalog.skipped) : null,
      catalog.error ? note(catalog.error.code + ": " + catalog.error.message) : null,
      catalog.warnings.map(function (each) { return note("Warning: " + each); })
    ];
  }

  // Pages. Each returns its title and its content.
  function overview() {
    return [data.name, [
      make("h1", {}, data.name),
      table(count(data.catalogs.length, "catalog"), ["catalog", "environment", "tables", "migrations", "to come", "past the migrations", "as of"], data.catalogs, function (each) {
        return [
          link([each.catalog], each.catalog), each.environment, each.tables.length, each.migrations.length,
          each.to_come.length ? make("a", { href: "#pending" }, String(each.to_come.length)) : "0",
          each.drift_unknown ? "not known" : make("a", { href: "#drift" }, String(each.drifts.filter(matter).length)),
          time(each.read_at)
        ];
      }),
      data.catalogs.map(function (each) {
        var found = problems(each).filter(function (part) { return part && (!Array.isArray(part) || part.length); });
        return found.length ? [make("h2", {}, title(each)), found] : null;
      })
    ]];
  }
  function catalogPage(catalog) {
    return [title(catalog), [
      path([make("a", { href: "#/" }, data.name)], catalog.catalog),
      make("h1", {}, title(catalog)), problems(catalog),
      make("h2", {}, "Tables"),
      table(count(catalog.tables.length, "table"), ["table", "columns", "last change", "by", "why"], catalog.tables, function (each) {
        var last = each.changes[0];
        return [
          link([catalog.catalog, each.name], each.name),
          each.dropped ? "dropped" : each.parts.filter(function (part) { return part.kind === "column"; }).length,
          last ? [day(last.since.day), " ", versionLink(catalog, each, last.since.version)] : "",
          last ? last.since.author : "", last ? last.since.why : ""
        ];
      }),
      make("h2", {}, "Migrations"), migrationTable(catalog, catalog.migrations.slice().reverse(), "newest first")
    ]];
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
    var columns = each.parts.filter(function (part) { return part.kind === "column"; });
    var others = each.parts.filter(function (part) { return part.kind !== "column"; });
    function row(part) {
      var what = part.kind === "column" ? part.name : (part.kind + " " + part.name).trim();
      return [
        code(what), code(part.type + (part.required ? " required" : "")), day(part.since.day), versionLink(catalog, each, part.since.version),
        part.since.author, [part.was ? part.was + ": " : null, part.since.why],
        part.created ? [part.created.day, " ", versionLink(catalog, each, part.created.version)] : ""
      ];
    }
    var headers = ["type", "since", "version", "author", "why", "created"];
    var drifts = catalog.drifts.filter(function (drift) { return drift.table === each.name; });
    var unread = find(catalog.unread, function (one) { return one.table === each.name; });
    return [each.name, [
      path([make("a", { href: "#/" }, data.name), link([catalog.catalog], title(catalog))], each.name),
      make("h1", {}, each.name),
      each.former_names.length ? make("p", {}, "Formerly " + each.former_names.join(", ")) : null,
      each.dropped ? note(["Dropped on " + each.dropped.day + ": ", each.dropped.why, " ", versionLink(catalog, each, each.dropped.version), ". Below is what it was before."]) : null,
      each.not_recorded.length ? note("Not recorded: " + each.not_recorded.join(", ") + " touched it and left no record; what it changed is not shown.") : null,
      unread ? note("Not compared with its record: " + unread.why) : null,
      strip(catalog, each),
      drifts.length ? [make("h2", {}, "Changes past the migrations"), driftTable(catalog, drifts, false)] : null,
      make("h2", {}, "Columns"), table(count(columns.length, "column") + ", by the last record", ["column"].concat(headers), columns, row),
      make("h2", {}, "Partitions, order and properties"), table("By the last record", ["what"].concat(headers), others, row),
      make("h2", {}, "Timeline"),
      table(count(each.changes.length, "change") + ", newest first", ["when", "version", "author", "why", "change"], each.changes, function (change) {
        return [day(change.since.day), versionLink(catalog, each, change.since.version), change.since.author, change.since.why, [make("div", {}, change.change), lines(change.diff)]];
      })
    ]];
  }
  function isByDesign(differences) {
    return differences.every(function (each) { return each.cause === "variables"; });
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
        : differences.length ? [state(isByDesign(differences) ? "by design" : "differs"), " ", lines(differences), " (" + differences[0].cause + ")"] : state("equal");
      return make("li", {}, [make("strong", {}, one.name), ": ", verdict]);
    }))];
  }
  function migrationPage(catalog, name, migration) {
    var status = migration.status, run = migration.run;
    var facts = [["state", [stateOf(status), status.stopped_at ? " at statement " + status.stopped_at + " of " + status.statements_total : null]],
      ["done", status.statements_done + (status.statements_total === null ? "" : "/" + status.statements_total) + " statements"],
      ["author", status.author]];
    keysOf(status.headers).forEach(function (header) { facts.push([header, status.headers[header]]); });
    facts.push(["file", status.path], ["applied at", time(status.applied_at)]);
    if (status.replaces.length) { facts.push(["replaces", status.replaces.join(", ")]); }
    migration.allows.forEach(function (allow) { facts.push(["allows " + allow.code, "at statement " + allow.statement_index + ": " + allow.reason]); });
    if (run) {
      facts.push(["run", run.run_id], ["user", (run.ci_actor ? run.ci_actor + ", " : "") + (run.os_user || "?") + "@" + (run.host || "?")], ["principal", run.principal],
        ["engine", run.engine], ["commit", run.git_commit], ["ci", run.ci_url], ["plan", run.plan]);
    }
    return [status.version + " " + (status.description || ""), [
      path([make("a", { href: "#/" }, data.name), link([catalog.catalog], title(catalog))].concat(name ? [link([catalog.catalog, name], name)] : []), status.version),
      make("h1", {}, status.version + "  " + (status.description || "")),
      status.note ? note(status.note) : null,
      status.error_message && status.state !== "applied" ? note("Error: " + status.error_message) : null,
      migration.next ? note("Next: " + migration.next) : null,
      table("What is known of it", ["fact", "value"], facts.filter(function (fact) { return fact[1] !== null; }), function (fact) { return fact; }),
      migration.tables.length ? [make("h2", {}, "Tables"), migration.tables.map(function (each) {
        var known = find(catalog.tables, function (one) { return one.name === each.table; });
        return [make("h3", {}, [known ? link([catalog.catalog, each.table], each.table) : each.table, ": " + (each.unread !== null ? "not recorded: " + each.unread : each.change),
          each.unread === null && each.origin !== "migration" ? " (found before it, not " + (each.origin === "outside" ? "from a migration)" : "recorded)") : null]), lines(each.diff)];
      })] : null,
      make("h2", {}, "Statements"),
      migration.statements.map(function (each) { return [make("p", {}, [each.index + ", line " + each.line + ": ", state(each.state)]), make("pre", { tabindex: "0" }, each.sql)]; }),
      migration.events.length ? [make("h2", {}, "Events"), table(count(migration.events.length, "event"), ["at", "event", "statement", "user", "run", "why"], migration.events, function (each) {
        return [time(each.at), each.event, each.statement, each.user, code(each.run_id.slice(0, 8)), each.why];
      })] : null
    ]];
  }
  function pendingPage() {
    return ["To come", [make("h1", {}, "To come"), known().map(function (catalog) {
      var coming = catalog.to_come.map(function (version) { return byVersion(catalog, version); });
      return [make("h2", {}, title(catalog)), coming.length ? migrationTable(catalog, coming, "in order") : make("p", {}, "Nothing is pending."),
        coming.filter(function (each) { return each.status.state !== "pending" && each.next; }).map(function (each) { return note(each.status.version + ", " + each.status.state.replace(/_/g, " ") + ". Next: " + each.next); })];
    })]];
  }
  function driftTable(catalog, drifts, named) {
    return table(count(drifts.length, "difference"), (named ? ["table", "what"] : ["what"]).concat(["record", "now", "how it matters", "since", "by"]), drifts, function (each) {
      var cells = [code(each.what), code(each.expected === null ? "nothing" : each.expected), code(each.actual === null ? "nothing" : each.actual),
        [state(each["class"]), each.reason ? ": " + each.reason : null], [each.is_bound ? "\u2264 " : null, time(each.since)], each.by];
      return named ? [link([catalog.catalog, each.table], each.table)].concat(cells) : cells;
    });
  }
  function driftPage() {
    return ["Changes past the migrations", [make("h1", {}, "Changes past the migrations"), known().map(function (catalog) {
      var shown = catalog.drifts.filter(function (each) { return each["class"] !== "kept by the engine"; });
      return [make("h2", {}, title(catalog)), catalog.drift_unknown ? note("Not known: " + catalog.drift_unknown) : [
        make("p", {}, count(catalog.drift_compared, "table") + " compared with their records, " + count(catalog.unmanaged.length, "table") + " beside them that no migration made."),
        shown.length ? driftTable(catalog, shown, true) : make("p", {}, "No difference."),
        catalog.drift_next.map(function (each) { return note(each); }),
        catalog.unread.map(function (each) { return note(each.table + ": not compared: " + each.why); }),
        catalog.unmanaged.length ? table("Tables that no migration made", ["table"], catalog.unmanaged, function (each) { return [each]; }) : null]];
    })]];
  }
  function comparePage() {
    if (!data.compared.length) {
      return ["Compare", [make("h1", {}, "Compare"), make("p", {}, "No environments were compared: none were named when the page was made.")]];
    }
    return ["Compare", [make("h1", {}, "Compare"), data.compared.map(function (each) {
      var names = each.environments.map(function (one) { return one.name; });
      var equal = each.versions.filter(function (one) { return one.verdict === "equal"; }).length;
      var shown = each.versions.filter(function (one) { return one.verdict !== "equal"; }).concat(
        each.versions.filter(function (one) { return one.verdict === "equal"; }));
      var tables = [];
      each.tables.forEach(function (one) { one.differences.forEach(function (difference) { tables.push([one, difference]); }); });
      return [make("h2", {}, each.catalog), each.skipped ? note("Not compared: " + each.skipped) : null,
        each.environments.map(function (one) { var why = one.skipped || (one.error ? one.error.code + ": " + one.error.message : null); return why ? note(one.name + ": not compared: " + why) : one.file ? make("p", { "class": "faint" }, [one.name + ": from " + one.file + ", as of ", time(one.read_at)]) : null; }),
        each.warnings.map(function (one) { return note("Warning: " + one); }),
        shown.length ? table(count(shown.length, "version") + ", " + equal + " equal; the others first", ["version"].concat(names, ["verdict", "description"]), shown, function (one) {
          return [catalogNamed(each.catalog) && byVersion(catalogNamed(each.catalog), one.version) ? link([each.catalog, "", one.version], one.version) : one.version].concat(
            names.map(function (name) { return name in one.states ? [stateOf(one.states[name]), " ", time(one.states[name].applied_at)] : "-"; }), [state(one.verdict), one.description]);
        }) : null,
        tables.length ? table(count(tables.length, "difference") + " of tables", ["table", "environment", "difference", "why"], tables, function (pair) {
          return [pair[0].table, pair[1].environment, code(line(pair[1])), [pair[1].cause, pair[1].versions.length ? " " + pair[1].versions.join(", ") : null]];
        }) : null,
        make("p", {}, count(each.tables.length, "table") + ": " + each.tables.filter(function (one) { return one.verdict === "equal"; }).length + " equal.")];
    })]];
  }

  // Addresses.
  var SPECIAL = { "#pending": pendingPage, "#drift": driftPage, "#compare": comparePage };
  function decoded(text) { try { return decodeURIComponent(text); } catch (error) { return text; } }
  function pageAt(hash) {
    if (Object.prototype.hasOwnProperty.call(SPECIAL, hash)) { return SPECIAL[hash](); }
    var parts = hash.replace(/^#?\/?/, "").split("/").map(decoded);
    if (parts[0] === "") { return overview(); }
    var catalog = catalogNamed(parts[0]);
    if (!catalog) { return missing(); }
    if (parts[2]) {
      var migration = byVersion(catalog, parts[2]);
      return migration ? migrationPage(catalog, parts[1], migration) : missing();
    }
    if (!parts[1]) { return catalogPage(catalog); }
    var found = catalog.tables.filter(function (each) { return each.name === parts[1]; });
    // Of several that had the name, the one that exists.
    found = find(found, function (each) { return !each.dropped; }) || found[found.length - 1];
    return found ? tablePage(catalog, found) : missing();
  }
  function missing() { return ["Not found", [make("h1", {}, "Not found"), make("p", {}, ["This page has nothing at that address. ", make("a", { href: "#/" }, "All catalogs")])]]; }
  function show(moveFocus) {
    if (location.hash === "#main") { main.focus(); return; }
    var page = pageAt(location.hash);
    document.title = page[0] === data.name ? data.name : page[0] + " \u2013 " + data.name;
    main.replaceChildren();
    append(main, page[1]);
    nav();
    if (moveFocus) { main.focus({ preventScroll: true }); window.scrollTo(0, 0); }
  }
  function nav() {
    var links = [["#/", "Catalogs"], ["#pending", "To come"], ["#compare", "Compare"], ["#drift", "Drift"]];
    var here = location.hash in SPECIAL ? location.hash : "#/";
    document.getElementById("nav").replaceChildren();
    append(document.getElementById("nav"), links.map(function (each) {
      return make("a", each[0] === here ? { href: each[0], "aria-current": "page" } : { href: each[0] }, each[1]);
    }));
  }

  // Search.
  var input = document.getElementById("search"), list = document.getElementById("found"), status = document.getElementById("count");
  var entries = null, results = [], chosen = -1;
  function allEntries() {
    var found = [];
    known().forEach(function (catalog) {
      catalog.tables.forEach(function (each) {
        found.push([each.name, "table in " + catalog.catalog, [catalog.catalog, each.name]]);
        each.parts.forEach(function (part) {
          if (part.kind === "column") { found.push([each.name + "." + part.name, "column in " + catalog.catalog, [catalog.catalog, each.name]]); }
        });
      });
      catalog.migrations.forEach(function (each) {
        found.push([each.status.version + " " + (each.status.description || ""), "migration in " + catalog.catalog, [catalog.catalog, "", each.status.version]]);
      });
    });
    return found.map(function (each) { return each.concat([each[0].toLowerCase()]); });
  }
  function search() {
    entries = entries || allEntries();
    var words = input.value.toLowerCase().split(/\s+/).filter(Boolean);
    results = words.length ? entries.filter(function (each) { return words.every(function (word) { return each[3].indexOf(word) >= 0; }); }) : [];
    var total = results.length;
    results.sort(function (one, other) { return one[0].length - other[0].length; });
    results = results.slice(0, 50);
    list.replaceChildren();
    append(list, results.map(function (each, index) {
      var item = make("li", { role: "option", id: "found-" + index, "aria-selected": "false" }, [code(each[0]), make("span", { "class": "faint" }, " " + each[1])]);
      item.addEventListener("mousedown", function (event) { event.preventDefault(); go(index); });
      return item;
    }));
    list.hidden = !results.length;
    input.setAttribute("aria-expanded", String(!list.hidden));
    status.textContent = words.length ? total + " found" : "";
    choose(results.length ? 0 : -1);
  }
  function choose(index) {
    if (list.children[chosen]) { list.children[chosen].setAttribute("aria-selected", "false"); }
    chosen = index;
    input.removeAttribute("aria-activedescendant");
    if (list.children[chosen]) {
      list.children[chosen].setAttribute("aria-selected", "true");
      list.children[chosen].scrollIntoView({ block: "nearest" });
      input.setAttribute("aria-activedescendant", "found-" + chosen);
    }
  }
  function close() { list.hidden = true; input.setAttribute("aria-expanded", "false"); input.removeAttribute("aria-activedescendant"); }
  function go(index) {
    if (!results[index]) { return; }
    var target = place(results[index][2]);
    close();
    input.value = "";
    if (location.hash === target) { show(true); } else { location.hash = target; }
  }
  input.addEventListener("input", search);
  input.addEventListener("blur", close);
  input.addEventListener("keydown", function (event) {
    if (event.key === "ArrowDown" || event.key === "ArrowUp") {
      event.preventDefault();
      if (results.length) { choose((chosen + (event.key === "ArrowDown" ? 1 : results.length - 1)) % results.length); }
    } else if (event.key === "Enter") { event.preventDefault(); go(chosen); }
    else if (event.key === "Escape") { close(); input.value = ""; main.focus(); }
  });
  document.addEventListener("keydown", function (event) {
    var inText = /^(INPUT|TEXTAREA|SELECT)$/.test(event.target.tagName || "");
    if (event.key === "/" && !inText && !event.ctrlKey && !event.metaKey && !event.altKey) { event.preventDefault(); input.focus(); }
  });
  document.getElementById("skip").addEventListener("click", function (event) { event.preventDefault(); main.focus(); });
  window.addEventListener("hashchange", function () { show(true); });

  document.getElementById("footer").textContent = "glacierbase " + data.tool_version;
  show(false);
})();
