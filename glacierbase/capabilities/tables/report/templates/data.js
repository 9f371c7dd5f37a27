// The data of the page, and what it knows by name.

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
      Object.defineProperty(kind, key, { configurable: true, get: function () { return open(this[NODE][index + 1]); } });
    });
  }
  var made = Object.create(kinds[shape]);
  made[NODE] = node;
  return made;
}
function keysOf(object) { return packed.shapes[object[NODE][0]]; }

var data = open(packed.root);

function catalogNamed(name) { return find(data.catalogs, function (each) { return each.catalog === name; }); }
function comparedNamed(name) { return find(data.compared, function (each) { return each.catalog === name; }); }
function find(list, test) { return list.filter(test)[0] || null; }
function known() { return data.catalogs.filter(function (each) { return !each.skipped && !each.error; }); }
function matter(drift) { return drift["class"] === "structural" || drift["class"] === "property"; }
function title(catalog) { return catalog.catalog + (catalog.environment ? " (" + catalog.environment + ")" : ""); }
function byVersion(catalog, version) {
  return find(catalog.migrations, function (each) { return each.status.version === version; });
}
