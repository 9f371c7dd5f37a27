// Which page an address shows, and where a reader was on it.

var SPECIAL = { "#dictionary": dictionaryPage, "#pending": pendingPage, "#drift": driftPage, "#compare": comparePage };
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
  var found = find(catalog.tables, function (each) { return each.name === parts[1]; });
  return found ? tablePage(catalog, found) : missing();
}
function missing() { return ["Not found", [make("h1", {}, "Not found"), make("p", {}, ["This page has nothing at that address. ", make("a", { href: "#/" }, "All catalogs")])]]; }
// Entries of the history have a number each, by which the place of the reader is found again.
var places = [], here = 0;
function links() { return main.querySelectorAll("a, button"); }
function leave() {
  places[here] = { top: window.scrollY, link: Array.prototype.indexOf.call(links(), document.activeElement) };
}
function arrive() {
  var number = window.history.state;
  if (typeof number === "number" && places[number]) {
    here = number;
    var focused = links()[places[here].link] || main;
    focused.focus({ preventScroll: true });
    window.scrollTo(0, places[here].top);
    return;
  }
  here = places.length;
  window.history.replaceState(here, "");
  main.focus({ preventScroll: true });
  window.scrollTo(0, 0);
}
function show() {
  var page = pageAt(location.hash);
  document.title = page[0] === data.name ? data.name : page[0] + " \u2013 " + data.name;
  main.replaceChildren();
  append(main, page[1]);
  nav();
  makeReachable();
}
function nav() {
  var links = [["#/", "Catalogs"], ["#dictionary", "Dictionary"], ["#pending", "Pending"], ["#compare", "Compare"], ["#drift", "Drift"]];
  var current = location.hash in SPECIAL ? location.hash : "#/";
  document.getElementById("nav").replaceChildren();
  append(document.getElementById("nav"), links.map(function (each) {
    return make("a", each[0] === current ? { href: each[0], "aria-current": "page" } : { href: each[0] }, each[1]);
  }));
}

document.getElementById("skip").addEventListener("click", function (event) { event.preventDefault(); main.focus(); });
window.addEventListener("hashchange", function () { leave(); show(); arrive(); });
window.addEventListener("resize", makeReachable);
window.history.scrollRestoration = "manual";
window.history.replaceState(here, "");
document.getElementById("footer").textContent = "glacierbase " + data.tool_version;
show();
