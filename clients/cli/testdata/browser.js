// Lays out each document of `input` in a frame, and writes what lies on what into a pre element.

// missing is the fonts that are not there: a fallback then decides about the width of text.
function missing(fonts) {
  const probe = document.body.appendChild(document.createElement("span"));
  probe.textContent = "iiiiiWWWWW";
  const width = (family) => { probe.style.fontFamily = family; return probe.getBoundingClientRect().width; };
  const out = fonts.filter((font) => width(`"${font}", serif`) !== width(`"${font}", monospace`));
  probe.remove();
  return out;
}

// texts are the boxes of all texts that are shown, with their elements.
function texts(doc) {
  const out = [];
  const walker = doc.createTreeWalker(doc.body, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const node = walker.currentNode, element = node.parentElement;
    if (!node.data.trim() || element.closest("title, style, script")) continue;
    const range = doc.createRange();
    range.selectNodeContents(node);
    for (const box of range.getClientRects()) {
      if (box.width > 0) out.push({ box, element, node, text: node.data.trim().slice(0, 60) });
    }
  }
  return out;
}

function overlap(a, b) {
  return Math.min(a.right, b.right) - Math.max(a.left, b.left) > 1 && Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top) > 1;
}

function within(inner, outer) {
  return inner.left >= outer.left - 1 && inner.right <= outer.right + 1 && inner.top >= outer.top - 1 && inner.bottom <= outer.bottom + 1;
}

function faults(doc) {
  const out = [];
  for (const d of doc.querySelectorAll("details")) d.open = true;
  const all = texts(doc);
  for (let i = 0; i < all.length; i++) {
    for (let j = 0; j < i; j++) {
      if (all[i].node !== all[j].node && overlap(all[i].box, all[j].box)) out.push(`"${all[j].text}" lies on "${all[i].text}"`);
    }
  }
  const swatches = [...doc.querySelectorAll(".legend rect, .node > path.pod")].map((s) => s.getBoundingClientRect());
  for (const t of all) {
    if (swatches.some((s) => s.width > 0 && overlap(s, t.box))) out.push(`"${t.text}" lies on a swatch`);
    for (const [around, border] of [[".node", ":scope > rect"], [".panel", ":scope > rect"], ["svg", null]]) {
      const outer = t.element.closest(around);
      if (!outer) continue;
      const box = (border ? outer.querySelector(border) : outer).getBoundingClientRect();
      if (!within(t.box, box)) { out.push(`"${t.text}" is beyond its ${around}`); break; }
    }
  }
  return { texts: all.length, faults: out };
}

for (const d of input.documents) {
  const frame = document.body.appendChild(document.createElement("iframe"));
  frame.style.cssText = "width: 1240px; height: 4000px; border: 0; display: block";
  frame.srcdoc = d.HTML;
}
window.onload = () => {
  const out = { missing: missing(input.fonts), documents: {} };
  input.documents.forEach((d, i) => { out.documents[d.Name] = faults(frames[i].document); });
  const pre = document.createElement("pre");
  pre.textContent = JSON.stringify(out);
  document.body.replaceChildren(pre);
};
