// The search, by keyboard and pointer.

var input = document.getElementById("search"), list = document.getElementById("found"), status = document.getElementById("count");
var entries = null, results = [], chosen = -1;
function allEntries() {
  var found = [];
  known().forEach(function (catalog) {
    catalog.tables.forEach(function (each) {
      var kind = each.dropped ? "dropped table in " : "table in ";
      found.push([each.name, kind + catalog.catalog, [catalog.catalog, each.name], each.comment]);
      each.parts.forEach(function (part) {
        if (part.kind === "column") { found.push([each.name + "." + part.name, "column in " + catalog.catalog, [catalog.catalog, each.name], part.comment]); }
      });
    });
    catalog.migrations.forEach(function (each) {
      found.push([each.status.version + " " + (each.status.description || ""), "migration in " + catalog.catalog, [catalog.catalog, "", each.status.version], ""]);
    });
  });
  return found.map(function (each) { return each.concat([(each[0] + " " + each[3]).toLowerCase()]); });
}
function search() {
  entries = entries || allEntries();
  var words = wordsOf(input.value);
  results = words.length ? entries.filter(function (each) { return words.every(function (word) { return each[4].indexOf(word) >= 0; }); }) : [];
  var total = results.length;
  results.sort(function (one, other) { return one[0].length - other[0].length; });
  results = results.slice(0, 50);
  list.replaceChildren();
  append(list, results.map(function (each, index) {
    var item = make("li", { role: "option", id: "found-" + index, "aria-selected": "false" }, [code(each[0]), make("span", { "class": "faint" }, " " + each[1] + (each[3] ? ": " + each[3].slice(0, 120) : ""))]);
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
  if (location.hash === target) { main.focus(); } else { location.hash = target; }
}
input.addEventListener("input", search);
input.addEventListener("blur", close);
input.addEventListener("keydown", function (event) {
  if (event.key === "ArrowDown" || event.key === "ArrowUp") {
    event.preventDefault();
    if (results.length) { choose((chosen + (event.key === "ArrowDown" ? 1 : results.length - 1)) % results.length); }
  } else if (event.key === "Enter") { event.preventDefault(); go(chosen); }
  else if (event.key === "Escape") { close(); input.value = ""; main.focus({ preventScroll: true }); }
});
document.addEventListener("keydown", function (event) {
  var inText = /^(INPUT|TEXTAREA|SELECT)$/.test(event.target.tagName || "");
  if (event.key === "/" && !inText && !event.ctrlKey && !event.metaKey && !event.altKey) { event.preventDefault(); input.focus(); }
});
