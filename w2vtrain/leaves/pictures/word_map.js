"use strict";
// Maps of words: zoom, search, and the neighbors of a word. Words are only ever set as text.
for (const figure of document.querySelectorAll(".word-map")) {
  const GAP = 2, REACH = 28, MOST = 60, svg = figure.querySelector(".stage svg");
  const facts = figure.querySelector(".facts"), search = figure.querySelector("input"), intro = facts.firstElementChild;
  figure.classList.add("live");
  const words = [...svg.querySelectorAll(".word")].map(group => ({
    group, label: group.lastElementChild, name: group.lastElementChild.textContent,
    near: JSON.parse(group.dataset.near), x: +group.dataset.x, y: +group.dataset.y,
  }));
  const byName = new Map(words.map(word => [word.name, word]));
  const left = Math.min(...words.map(w => w.x)), right = Math.max(...words.map(w => w.x));
  const top = Math.min(...words.map(w => w.y)), bottom = Math.max(...words.map(w => w.y));
  const size = parseFloat(svg.getAttribute("font-size")), radius = +words[0].group.firstElementChild.getAttribute("r");
  let width = 1, height = 1, zoom = 1, moved = [0, 0], pinned = null, current = null, found = [], waiting = false;
  for (const word of words) {
    word.label.removeAttribute("display");
    word.width = word.label.getComputedTextLength();
  }

  // Where a word is on the screen, in pixels of the map.
  function scale() {
    return zoom * Math.min((width - 48) / Math.max(right - left, 1), (height - 48) / Math.max(bottom - top, 1));
  }
  function place() {
    const factor = scale();
    for (const word of words) {
      word.px = width / 2 + moved[0] + (word.x - (left + right) / 2) * factor;
      word.py = height / 2 + moved[1] + (word.y - (top + bottom) / 2) * factor;
    }
  }
  const overlaps = (a, b) => a[0] < b[2] + GAP && a[2] > b[0] - GAP && a[1] < b[3] + GAP && a[3] > b[1] - GAP;

  // Labels in the order of importance: each takes the free place of four that covers the fewest points, or none.
  function draw() {
    waiting = false;
    place();
    const near = current ? current.near.map(([name]) => byName.get(name)).filter(Boolean) : found;
    const special = new Set([current, ...near].filter(Boolean)), taken = [];
    svg.classList.toggle("chosen", special.size > 0);
    for (const word of [...special, ...words.filter(w => !special.has(w))]) {
      const { px, py } = word, seen = px > -9 && py > -9 && px < width + 9 && py < height + 9;
      word.group.setAttribute("class", word === current ? "word this" : special.has(word) ? "word near" : "word");
      word.group.setAttribute("transform", `translate(${px.toFixed(1)} ${py.toFixed(1)})`);
      const own = [px - radius, py - radius, px + radius, py + radius], w = word.width, h = size * 1.04, g = radius + GAP;
      let free = null, least = Infinity;
      if (seen && !taken.some(box => overlaps(own, box)))
        for (const [dx, dy] of [[g, -h / 2], [-g - w, -h / 2], [-w / 2, -g - h], [-w / 2, g]]) {
          const box = [px + dx, py + dy, px + dx + w, py + dy + h];
          if (box[0] < 2 || box[1] < 2 || box[2] > width - 2 || box[3] > height - 2) continue;
          if (taken.some(other => overlaps(box, other))) continue;
          const covered = words.filter(w => w.px > box[0] && w.px < box[2] && w.py > box[1] && w.py < box[3]).length;
          if (covered < least) [free, least] = [[dx, dy, box], covered];
          if (!covered) break;
        }
      if (free) taken.push(free[2], own);
      word.group.classList.toggle("bare", !free);
      if (free) {
        word.label.removeAttribute("display");
        word.label.setAttribute("x", free[0].toFixed(1));
        word.label.setAttribute("y", (free[1] + size * 0.8).toFixed(1));
      } else word.label.setAttribute("display", "none");
    }
    svg.style.touchAction = zoom > 1 ? "none" : "pan-y";
  }
  function later() {
    if (!waiting) requestAnimationFrame(draw);
    waiting = true;
  }
  function resize(w, h) {
    if (!(w > 0 && h > 0)) return;
    moved = [moved[0] * w / width, moved[1] * h / height];
    [width, height] = [w, h];
    svg.setAttribute("viewBox", `0 0 ${w} ${h}`);
    draw();
  }
  function zoomAt(factor, x, y) {
    const next = Math.min(MOST, Math.max(1, zoom * factor)), ratio = next / zoom;
    moved = [(moved[0] + width / 2 - x) * ratio + x - width / 2, (moved[1] + height / 2 - y) * ratio + y - height / 2];
    zoom = next;
    shift(0, 0);
  }
  function shift(dx, dy) {
    const factor = scale(), mostX = Math.max(0, (right - left) * factor / 2), mostY = Math.max(0, (bottom - top) * factor / 2);
    moved = zoom === 1 ? [0, 0] : [
      Math.min(mostX, Math.max(-mostX, moved[0] + dx)), Math.min(mostY, Math.max(-mostY, moved[1] + dy)),
    ];
    later();
  }
  function reveal(word) {
    place();
    if (word.px < 40 || word.py < 20 || word.px > width - 40 || word.py > height - 20)
      shift(width / 2 - word.px, height / 2 - word.py);
  }

  // The facts beside the map.
  function element(kind, text, name) {
    const made = document.createElement(kind);
    made.textContent = text;
    if (name) made.className = name;
    return made;
  }
  function link(word) {
    const button = element("button", word.name);
    button.type = "button";
    button.addEventListener("click", () => pin(word));
    return button;
  }
  function list(entries) {
    const made = document.createElement("ol");
    for (const [name, cosine] of entries) {
      const item = document.createElement("li"), known = byName.get(name);
      item.append(known ? link(known) : element("span", name));
      if (cosine !== undefined) item.append(element("span", cosine.toFixed(3), "n"));
      made.append(item);
    }
    return made;
  }
  function show(word) {
    if (word === current) return;
    current = word;
    if (!word) facts.replaceChildren(intro);
    else if (!word.near.length) facts.replaceChildren(element("h3", word.name), element("p", "Without neighbors.", "muted"));
    else facts.replaceChildren(
      element("h3", word.name), list(word.near), element("p", "Nearest words and their cosines.", "muted"));
    later();
  }
  function pin(word) {
    pinned = word;
    found = [];
    show(word);
    if (word) reveal(word);
  }

  // Search: exact words first, then words that begin with the text, then those that contain it.
  function look() {
    const text = search.value.trim().toLowerCase();
    pinned = null;
    show(null);
    found = [];
    if (text) {
      const rank = w => w.name.toLowerCase() === text ? 0 : w.name.toLowerCase().startsWith(text) ? 1 : 2;
      found = words.filter(w => w.name.toLowerCase().includes(text)).sort((a, b) => rank(a) - rank(b));
      const count = found.length, note = count === 1 ? "1 word" : `${count} words`;
      const said = count ? `${note} found; Enter selects the first.` : `No word of this map contains “${search.value.trim()}”.`;
      facts.replaceChildren(element("p", said, "muted"), list(found.slice(0, 12).map(w => [w.name])));
    } else facts.replaceChildren(intro);
    later();
  }
  search.addEventListener("input", look);
  search.addEventListener("keydown", event => {
    if (event.key === "Enter" && found.length) pin(found[0]);
    if (event.key === "Escape") { search.value = ""; look(); }
  });

  // Mouse, pen and touch: point at a word, click, drag, pinch, turn the wheel.
  const pointers = new Map();
  let dragged = 0;
  const at = event => {
    const box = svg.getBoundingClientRect();
    return [(event.clientX - box.left) * width / box.width, (event.clientY - box.top) * height / box.height];
  };
  function closest(x, y) {
    let best = null, least = REACH * REACH;
    for (const word of words) {
      const distance = (word.px - x) ** 2 + (word.py - y) ** 2;
      const onLabel = !word.label.hasAttribute("display") && Math.abs(y - word.py - (+word.label.getAttribute("y") - size * 0.3)) < size * 0.6
        && x - word.px >= +word.label.getAttribute("x") && x - word.px <= +word.label.getAttribute("x") + word.width;
      if (onLabel) return word;
      if (distance < least) [best, least] = [word, distance];
    }
    return best;
  }
  svg.addEventListener("pointerdown", event => {
    pointers.set(event.pointerId, at(event));
    if (pointers.size === 1) dragged = 0;
  });
  svg.addEventListener("pointermove", event => {
    const point = at(event), last = pointers.get(event.pointerId);
    if (!last) {
      if (!pinned && !search.value && event.pointerType === "mouse") show(closest(...point));
      return;
    }
    pointers.set(event.pointerId, point);
    dragged += Math.hypot(point[0] - last[0], point[1] - last[1]);
    if (pointers.size === 2) {
      const [other] = [...pointers].filter(([id]) => id !== event.pointerId).map(([, p]) => p);
      const apart = (a, b) => Math.max(8, Math.hypot(a[0] - b[0], a[1] - b[1]));
      zoomAt(apart(point, other) / apart(last, other), other[0], other[1]);
    } else if (dragged > 4) {
      svg.setPointerCapture(event.pointerId);
      svg.classList.add("moving");
      shift(point[0] - last[0], point[1] - last[1]);
    }
  });
  for (const kind of ["pointerup", "pointercancel"])
    svg.addEventListener(kind, event => {
      const was = pointers.delete(event.pointerId);
      svg.classList.remove("moving");
      if (kind === "pointerup" && was && dragged <= 4) {
        const word = closest(...at(event));
        search.value = "";
        pin(word === pinned ? null : word);
      }
    });
  svg.addEventListener("pointerleave", () => { if (!pinned && !search.value && !pointers.size) show(null); });
  svg.addEventListener("dblclick", event => zoomAt(2, ...at(event)));
  svg.addEventListener("wheel", event => {
    const page = document.scrollingElement, scrolls = page.scrollHeight > innerHeight + 1;
    if (scrolls && !event.ctrlKey && !event.metaKey && document.activeElement !== svg) return; // the wheel scrolls the page
    event.preventDefault();
    zoomAt(Math.exp(-event.deltaY * (event.deltaMode ? 0.05 : 0.002)), ...at(event));
  }, { passive: false });
  for (const button of figure.querySelectorAll("[data-zoom]"))
    button.addEventListener("click", () => {
      const factor = +button.dataset.zoom;
      if (factor) zoomAt(factor, ...(current && zoom >= 1 ? [current.px, current.py] : [width / 2, height / 2]));
      else { zoom = 1; shift(0, 0); }
    });

  // Keys: the arrows go to the nearest word in their direction.
  const ARROWS = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };
  function next([dx, dy]) {
    if (!current) return words[0];
    const cost = w => {
      const along = (w.px - current.px) * dx + (w.py - current.py) * dy;
      const across = Math.abs((w.px - current.px) * dy) + Math.abs((w.py - current.py) * dx);
      return along > 0.5 ? along + 2 * across : Infinity;
    };
    const best = words.reduce((a, b) => cost(b) < cost(a) ? b : a);
    return cost(best) < Infinity ? best : current;
  }
  svg.addEventListener("keydown", event => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const middle = current ? [current.px, current.py] : [width / 2, height / 2];
    if (ARROWS[event.key]) pin(next(ARROWS[event.key]));
    else if (event.key === "+" || event.key === "=") zoomAt(1.5, ...middle);
    else if (event.key === "-") zoomAt(1 / 1.5, ...middle);
    else if (event.key === "0") { zoom = 1; shift(0, 0); }
    else if (event.key === "Escape") pin(null);
    else return;
    event.preventDefault();
  });

  // On paper, the map has the size of a page, and as many labels as fit there.
  const paper = matchMedia("print"), onScreen = () => resize(svg.clientWidth, svg.clientHeight);
  paper.addEventListener("change", () => paper.matches ? resize(760, 560) : onScreen());
  new ResizeObserver(() => paper.matches || onScreen()).observe(svg);
}
