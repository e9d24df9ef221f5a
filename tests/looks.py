"""What a reader's eye would see in a page, as scripts that a browser evaluates: each returns what is wrong.

They also run on pages whose own script is switched off.
"""

from __future__ import annotations

from typing import Any

# Pairs of texts in one drawing whose boxes share more than a px.
OVERLAPS = """() => [...document.querySelectorAll('svg')].flatMap(svg => {
  const boxes = [...svg.querySelectorAll('text')].filter(t => t.textContent.trim())
    .map(t => [t.textContent, t.getBoundingClientRect()]).filter(([, b]) => b.width > 0);
  const found = [];
  boxes.forEach(([one, a], i) => boxes.slice(i + 1).forEach(([other, b]) => {
    const wide = Math.min(a.right, b.right) - Math.max(a.left, b.left);
    const high = Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top) - 3;  // boxes are higher than letters
    if (wide > 1 && high > 1) found.push(`${one} | ${other}`);
  }));
  return found;
})"""
# Texts that reach out of their drawing.
CLIPPED = """() => [...document.querySelectorAll('svg')].flatMap(svg => {
  const frame = svg.getBoundingClientRect();
  return [...svg.querySelectorAll('text')].filter(t => t.textContent.trim()).filter(t => {
    const box = t.getBoundingClientRect();
    return box.width > 0 && (box.left < frame.left - 1 || box.right > frame.right + 1 || box.top < frame.top - 2
      || box.bottom > frame.bottom + 2);
  }).map(t => t.textContent);
})"""
# Texts whose contrast with what is behind them is below 4.5 (WCAG 2.2, criterion 1.4.3).
PALE = """() => {
  const numbers = said => said.match(/[\\d.]+/g).map(Number);
  const light = colour => {
    const part = c => (c /= 255) <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4;
    return 0.2126 * part(colour[0]) + 0.7152 * part(colour[1]) + 0.0722 * part(colour[2]);
  };
  const over = (front, back, share = 1) => {
    const solid = (front[3] ?? 1) * share;
    return [0, 1, 2].map(i => front[i] * solid + back[i] * (1 - solid));
  };
  const ratio = (a, b) => (Math.max(light(a), light(b)) + 0.05) / (Math.min(light(a), light(b)) + 0.05);
  const ground = element => {
    const found = [];
    for (let at = element; at; at = at.parentElement) found.push(numbers(getComputedStyle(at).backgroundColor));
    return found.reverse().reduce((back, front) => over(front, back), [255, 255, 255]);
  };
  const found = new Set();
  const look = (text, colour, back) => {
    const seen = ratio(over(colour, back), back);
    if (seen < 4.5) found.add(`${text.trim().slice(0, 40)}: ${seen.toFixed(2)}`);
  };
  for (const svg of document.querySelectorAll('svg')) {
    if (!svg.getBoundingClientRect().width) continue;
    const areas = [...svg.querySelectorAll('rect')].map(one => [one, one.getBoundingClientRect()]);
    for (const text of svg.querySelectorAll('text')) {
      const box = text.getBoundingClientRect(), x = (box.left + box.right) / 2, y = (box.top + box.bottom) / 2;
      let back = ground(svg);
      for (const [area, at] of areas) {
        const before = area.compareDocumentPosition(text) & Node.DOCUMENT_POSITION_FOLLOWING;
        const style = getComputedStyle(area);
        if (!before || style.fill === 'none' || at.left > x || at.right < x || at.top > y || at.bottom < y) continue;
        back = over(numbers(style.fill), back, style.fillOpacity * style.opacity);
      }
      look(text.textContent, numbers(getComputedStyle(text).fill), back);
    }
  }
  const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  for (let text = texts.nextNode(); text; text = texts.nextNode()) {
    const owner = text.parentElement;
    if (!text.textContent.trim() || owner.closest('svg, script, style')) continue;
    if (!owner.getBoundingClientRect().width) continue;
    look(text.textContent, numbers(getComputedStyle(owner).color), ground(owner));
  }
  return [...found];
}"""


def open_all(page: Any) -> None:
    """Opens everything that a reader can open."""
    page.evaluate("document.querySelectorAll('details').forEach(one => one.open = true)")


def complaints(page: Any) -> dict[str, Any]:
    """What a reader could not read: labels on one another, cut or pale ones, and a page wider than its window."""
    found = {name: page.evaluate(script) for name, script in
             (("on one another", OVERLAPS), ("cut off", CLIPPED), ("pale", PALE))}  # fmt: skip
    wide = page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
    return {name: what for name, what in (found | {"too wide, px": wide}).items() if what}
