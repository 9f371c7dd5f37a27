// The data dictionary: what the tables hold, for people who query them. A filter chooses tables and columns.

// So many tables are shown at first.
var FEW = 20;
// The filter, which a reader who comes back finds again.
var wanted = "";

function partsOf(each, kind) { return each.parts.filter(function (part) { return part.kind === kind; }); }
function living(catalog) { return catalog.tables.filter(function (each) { return !each.dropped; }); }
function about(text) { return text ? make("p", { "class": "about" }, text) : null; }
function commentOf(part) { return part.comment ? make("span", { "class": "about" }, part.comment) : null; }
function holds(text, words) { return words.every(function (word) { return text.indexOf(word) >= 0; }); }
function wordsOf(text) { return text.toLowerCase().split(/\s+/).filter(Boolean); }
// The tables that exist, each with its columns, and the texts that the filter searches.
var described = null;
function describe() {
  var found = [];
  known().forEach(function (catalog) {
    living(catalog).forEach(function (each) {
      var columns = partsOf(each, "column"), head = (each.name + " " + each.comment).toLowerCase();
      var texts = columns.map(function (part) { return head + " " + (part.name + " " + part.comment).toLowerCase(); });
      found.push({ catalog: catalog, table: each, all: columns, head: head, texts: texts });
    });
  });
  return found;
}
// The tables that fit the filter, each with its columns: all where the table fits.
function fitting(words) {
  described = described || describe();
  return described.map(function (each) {
    var fits = holds(each.head, words);
    var columns = fits ? each.all : each.all.filter(function (part, index) { return holds(each.texts[index], words); });
    return fits || columns.length ? { catalog: each.catalog, table: each.table, all: each.all.length, columns: columns } : null;
  }).filter(Boolean);
}
function entryOf(entry) {
  var each = entry.table, catalog = entry.catalog, origin = find(each.parts, function (part) { return part.kind === "table"; });
  function texts(kind) { return partsOf(each, kind).map(function (part) { return part.type; }).join(", ") || null; }
  function since(part) { return [day(part.since.day), " ", versionLink(catalog, each, part.since.version)]; }
  var shown = entry.columns.length === entry.all ? count(entry.all, "column") : entry.columns.length + " of " + count(entry.all, "column");
  return make("section", { "class": "entry" }, [
    make("h3", {}, named(catalog, each.name)), about(each.comment),
    facts([
      ["partitioned by", texts("partition")], ["sorted by", texts("sort order")], ["identified by", texts("identifiers")],
      ["since", origin ? [since(origin), " ", origin.since.author, origin.since.author ? ": " : null, origin.since.why] : null]
    ]),
    table(shown, ["column", "type", "required", "comment", "since", "author"], entry.columns, function (part) {
      return [code(part.name), code(part.type), part.required ? "yes" : null, commentOf(part), since(part), part.since.author];
    })
  ]);
}
function dictionaryPage() {
  var field = make("input", { id: "filter", type: "search", autocomplete: "off", spellcheck: "false" });
  var total = make("p", { "class": "faint", role: "status" }), body = make("div", {});
  function fill() {
    wanted = field.value;
    var entries = fitting(wordsOf(wanted));
    total.textContent = count(entries.length, "table") + ", " + count(entries.reduce(function (sum, each) { return sum + each.columns.length; }, 0), "column");
    body.replaceChildren();
    var last = null;
    append(body, inParts(entries.length, FEW, function (from, to) {
      return entries.slice(from, to).map(function (entry) {
        var isNew = entry.catalog !== last;
        last = entry.catalog;
        return [isNew ? make("h2", {}, title(last)) : null, entryOf(entry)];
      });
    }));
    makeReachable();
  }
  field.value = wanted;
  field.addEventListener("input", fill);
  fill();
  return ["Dictionary", [
    make("h1", {}, "Dictionary"), notRead(),
    make("p", { "class": "filter" }, [make("label", { "for": "filter" }, "Only tables and columns whose name or comment has"), " ", field]),
    total, body
  ]];
}
