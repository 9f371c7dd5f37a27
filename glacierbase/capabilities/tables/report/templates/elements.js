// Elements, and the words that many pages show.

var main = document.getElementById("main");
// Of a long table so many rows are shown at first.
var MOST = 200;

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
// Names and types are broken behind punctuation.
function code(text) { return broken("code", text); }
function named(catalog, name) { return link([catalog.catalog, name], broken("name", name)); }
function broken(kind, text) {
  return make("span", { "class": kind }, String(text).split(/([^.,<(]*[.,<(]+)/).filter(Boolean).map(function (part, index) {
    return index ? [make("wbr"), part] : part;
  }));
}
// Sentences with commands and names between backticks.
function prose(text) {
  return String(text).split("`").map(function (part, index) { return index % 2 ? make("code", {}, part) : part; });
}
function note(children) { return make("p", { "class": "note" }, typeof children === "string" ? prose(children) : children); }
function way(children) { return make("p", { "class": "note way" }, children); }
function failure(text) { return make("p", { "class": "note failure" }, prose(text)); }
function count(number, noun) { return number + " " + noun + (number === 1 ? "" : "s"); }
function time(text) {
  return text ? make("time", { datetime: text }, text.slice(0, 19).replace("T", " ") + " UTC") : null;
}
function day(text) { return make("span", { "class": "day" }, text); }
// A place for a long list that shows a part: all of it on request, and on paper. Returns its elements.
function inParts(total, most, elements, holder) {
  var place = holder || make("div", {});
  append(place, elements(0, most));
  if (total <= most) { return [place]; }
  var more = make("button", { type: "button", "class": "more" }, "Show all " + total);
  more.addEventListener("click", function () {
    var last = place.lastElementChild;
    append(place, elements(most, total));
    more.remove();
    last.nextSibling.setAttribute("tabindex", "-1");
    last.nextSibling.focus();
  });
  return [place, more];
}
window.addEventListener("beforeprint", function () {
  Array.prototype.forEach.call(main.querySelectorAll(".more"), function (each) { each.click(); });
});
// The first cell of a row is its header. Long tables show a part.
// The roles stay where a narrow window shows each row as a block.
function table(caption, headers, rows, cells) {
  if (!rows.length) { return make("p", { "class": "empty" }, caption); }
  var body = make("tbody", { role: "rowgroup" });
  var more = inParts(rows.length, MOST, function (from, to) {
    return rows.slice(from, to).map(function (row) {
      return make("tr", { role: "row" }, cells(row).map(function (content, index) {
        var cell = index ? make("td", { role: "cell" }, content) : make("th", { scope: "row", role: "rowheader" }, content);
        cell.setAttribute(cell.firstChild ? "data-label" : "data-empty", headers[index]);
        return cell;
      }));
    });
  }, body)[1];
  var made = make("table", { role: "table" }, [
    make("caption", {}, caption),
    make("thead", { role: "rowgroup" }, make("tr", { role: "row" }, headers.map(function (text) { return make("th", { scope: "col", role: "columnheader" }, text); }))),
    body
  ]);
  return [make("div", { "class": "wide", "data-name": caption }, made), more];
}
// What scrolls sideways is reached by keyboard.
function makeReachable() {
  Array.prototype.forEach.call(main.querySelectorAll(".wide"), function (each) {
    var attributes = { tabindex: "0", role: "region", "aria-label": each.getAttribute("data-name") };
    Object.keys(attributes).forEach(function (name) {
      if (each.scrollWidth > each.clientWidth) { each.setAttribute(name, attributes[name]); } else { each.removeAttribute(name); }
    });
  });
}
function facts(pairs) {
  return make("dl", { "class": "facts" }, pairs.filter(function (pair) { return pair[1] !== null; }).map(function (pair) {
    return [make("dt", {}, pair[0]), make("dd", {}, pair[1])];
  }));
}
function figures(pairs) {
  return make("ul", { "class": "figures" }, pairs.map(function (pair) {
    var content = [make("strong", {}, pair[0]), " ", pair[1]];
    return make("li", pair[3] ? { "class": "raised" } : {}, pair[2] ? make("a", { href: pair[2] }, content) : content);
  }));
}

// Words for states, each with a sign: colours only repeat what the words say.
var GOOD = ["applied", "equal", "done"], CARE = ["pending", "out_of_order", "running", "behind", "property", "not recorded", "variables", "baselined", "versions", "interrupted", "missing", "ahead", "abandoned", "by design"];
function state(name) {
  var kind = GOOD.indexOf(name) >= 0 ? "good" : CARE.indexOf(name) >= 0 ? "care" : name === "ignored" || name === "kept by the engine" ? "faint" : "bad";
  var sign = { good: "\u2713 ", care: "\u25cb ", bad: "\u2717 ", faint: "" }[kind];
  return make("span", { "class": "state " + kind }, sign + String(name).replace(/_/g, " "));
}
function stateOf(status) { return state(status.state === "applied" && status.applied_by === "baseline" ? "baselined" : status.state); }
function line(difference) {
  var subject = (difference.what + " " + difference.name).trim(), before = difference.before, after = difference.after;
  if (before !== null && after !== null) { return "~ " + subject + ": " + before + " -> " + after; }
  return (before === null ? "+ " : "- ") + subject + ": " + (after === null ? before : after);
}
function lines(differences) {
  return make("ul", { "class": "plain" }, differences.map(function (each) {
    var kind = each.before === null ? "good" : each.after === null ? "bad" : "changed";
    return make("li", { "class": "code " + kind }, [line(each), each.destructive ? " (destroys data)" : null]);
  }));
}
function path(parts, last) {
  var items = [];
  parts.forEach(function (each) { items.push(each, " / "); });
  return make("nav", { "class": "path", "aria-label": "Path" }, items.concat([make("span", { "aria-current": "page" }, last)]));
}
