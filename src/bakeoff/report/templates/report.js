"use strict";
// What the page can do beyond showing: exact values of marks, series to hide, tables to sort.
// Stored texts are only ever put in as text, never as markup.
(() => {
  const make = (name, attributes, text) => {
    const element = document.createElement(name);
    for (const key in attributes) element.setAttribute(key, attributes[key]);
    if (text !== undefined) element.textContent = text;
    return element;
  };
  const box = make("div", { class: "tip", role: "status", hidden: "" });
  document.body.append(box);
  let shown = null;

  const hide = () => {
    if (shown) shown.classList.remove("on");
    shown = null;
    box.hidden = true;
  };
  const show = mark => {
    if (mark === shown) return;
    hide();
    shown = mark;
    mark.classList.add("on");
    const [head, ...facts] = mark.says.split("\n");
    box.replaceChildren(make("b", {}, head), ...facts.map(fact => make("span", {}, fact)));
    box.hidden = false;
    const at = mark.getBoundingClientRect(), own = box.getBoundingClientRect();
    const left = Math.min(Math.max(at.left + at.width / 2 - own.width / 2, 6), innerWidth - own.width - 6);
    const above = at.top - own.height - 8;
    box.style.left = `${left + scrollX}px`;
    box.style.top = `${(above > 4 ? above : at.bottom + 8) + scrollY}px`;
  };
  // How far a pointer is from a mark's box, in px.
  const away = (mark, x, y) => {
    const at = mark.getBoundingClientRect();
    if (!at.width && !at.height) return Infinity;
    return Math.hypot(Math.max(at.left - x, 0, x - at.right), Math.max(at.top - y, 0, y - at.bottom))
      + Math.hypot(x - at.left - at.width / 2, y - at.top - at.height / 2) / 1000;
  };

  for (const svg of document.querySelectorAll("figure svg")) {
    const marks = [...svg.querySelectorAll("g.m")];
    if (!marks.length) continue;
    for (const mark of marks) {
      const title = mark.querySelector("title");
      mark.says = title.textContent;
      title.remove();  // the browser would show it as well
      mark.setAttribute("role", "img");
      mark.setAttribute("aria-label", mark.says.replaceAll("\n", ", "));
      mark.setAttribute("tabindex", "-1");
    }
    const visible = () => marks.filter(mark => mark.style.display !== "none");
    let current = 0;
    svg.setAttribute("role", "group");
    svg.setAttribute("tabindex", "0");
    svg.setAttribute("aria-description", "arrow keys go from value to value");
    const near = event => {
      const found = visible().map(mark => [away(mark, event.clientX, event.clientY), mark]).sort((a, b) => a[0] - b[0])[0];
      if (found && found[0] < 22) show(found[1]); else hide();
    };
    svg.addEventListener("pointermove", near);
    svg.addEventListener("pointerdown", near);
    svg.addEventListener("pointerleave", event => { if (event.pointerType === "mouse") hide(); });
    svg.addEventListener("focus", () => { const there = visible(); if (there.length) show(there[Math.min(current, there.length - 1)]); });
    svg.addEventListener("blur", hide);
    svg.addEventListener("keydown", event => {
      const there = visible();
      const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
      if (event.key === "Escape") return hide();
      if (!there.length || (!step && event.key !== "Home" && event.key !== "End")) return;
      event.preventDefault();
      current = event.key === "Home" ? 0 : event.key === "End" ? there.length - 1
        : (Math.min(current, there.length - 1) + step + there.length) % there.length;
      show(there[current]);
    });
  }

  for (const figure of document.querySelectorAll("figure")) {
    const parts = [...figure.querySelectorAll("[data-s]")];
    const names = [...new Set(parts.map(part => part.dataset.s))];
    if (!figure.matches(".curve, .curve-big") || names.length < 2) continue;
    const legend = make("div", { class: "toggles", role: "group", "aria-label": "lines that are shown" });
    for (const name of names.sort()) {
      const button = make("button", { type: "button", "aria-pressed": "true" }, name);
      button.addEventListener("click", () => {
        const on = button.getAttribute("aria-pressed") !== "true";
        button.setAttribute("aria-pressed", String(on));
        for (const part of parts) if (part.dataset.s === name) part.style.display = on ? "" : "none";
        hide();
      });
      legend.append(button);
    }
    figure.querySelector("figcaption").before(legend);
  }

  // A flame graph: the box that is chosen becomes as wide as the picture, with those that it stands on.
  for (const svg of document.querySelectorAll("svg.flame")) {
    const boxes = [...svg.querySelectorAll("g.f")].map(group => ({
      group, rect: group.querySelector("rect"), text: group.querySelector("text"),
      left: +group.dataset.l, wide: +group.dataset.w, row: +group.dataset.r,
      name: group.querySelector("title").textContent.replace(/: [^:]*$/, ""),
    }));
    const full = svg.viewBox.baseVal.width;
    const choose = one => {
      for (const box of boxes) {
        const below = box.row <= one.row && box.left <= one.left + 1e-6 && box.left + box.wide >= one.left + one.wide - 1e-6;
        const inside = box.left >= one.left - 1e-6 && box.left + box.wide <= one.left + one.wide + 1e-6;
        box.group.style.display = below || inside ? "" : "none";
        const left = below ? 0 : (box.left - one.left) / one.wide * full, wide = below ? full : box.wide / one.wide * full;
        box.rect.setAttribute("x", left);
        box.rect.setAttribute("width", Math.max(wide, 0));
        box.text.setAttribute("x", left + 3);
        const room = Math.floor((wide - 6) / 6.6);
        box.text.textContent = box.name.length <= room ? box.name : room > 3 ? `${box.name.slice(0, room - 1)}…` : "";
      }
    };
    for (const box of boxes) {
      box.group.setAttribute("tabindex", "0");
      box.group.setAttribute("role", "button");
      box.group.addEventListener("click", () => choose(box));
      box.group.addEventListener("keydown", event => { if (event.key === "Enter") choose(box); });
    }
  }

  const value = (row, column) => {
    const cell = row.cells[column];
    if (!cell) return "";
    const number = parseFloat(cell.dataset.v ?? cell.textContent.replaceAll(",", ""));
    return Number.isNaN(number) ? cell.textContent : number;
  };
  const order = (a, b) => typeof a === "number" && typeof b === "number" ? a - b
    : typeof a === "number" ? -1 : typeof b === "number" ? 1 : a.localeCompare(b, "en", { numeric: true });
  for (const table of document.querySelectorAll("table")) {
    const heads = table.tHead ? [...table.tHead.rows[0].cells] : [];
    heads.forEach((head, column) => {
      const button = make("button", { type: "button", class: "sort" });
      button.append(...head.childNodes);
      head.append(button);
      button.addEventListener("click", () => {
        const down = head.getAttribute("aria-sort") === "ascending";
        for (const other of heads) other.removeAttribute("aria-sort");
        head.setAttribute("aria-sort", down ? "descending" : "ascending");
        for (const body of table.tBodies) {
          const rows = [...body.rows].filter(row => !row.classList.contains("cell"));
          rows.map((row, at) => [value(row, column), at, row])
            .sort((a, b) => (down ? order(b[0], a[0]) : order(a[0], b[0])) || a[1] - b[1])
            .forEach(([, , row]) => body.append(row));
        }
      });
    });
  }
  addEventListener("keydown", event => { if (event.key === "Escape") hide(); });
})();
