// Opens all that is folded, waits for the figures, and tells the page around what a reader sees:
// words over words, words that are cut, words that are pale, headings that skip a level, heads of
// tables that do not stay. Once more when that page turns the light off.
(async () => {
	"use strict";
	const pause = (ms) => new Promise((done) => setTimeout(done, ms));
	for (const fold of document.querySelectorAll("details")) fold.open = true;
	while (![...document.querySelectorAll(".chart")].every((chart) => chart.querySelector("svg"))) await pause(50);
	await pause(500);

	const tell = () => {
		// Every line of every text: its words, its place, the element it stands in.
		const lines = [];
		const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
		while (walker.nextNode()) {
			const node = walker.currentNode;
			const of = node.parentElement;
			if (!node.data.trim() || of.closest("script, style, noscript, .sr, .skip, .cards thead, title")) continue;
			const range = document.createRange();
			range.selectNodeContents(node);
			const boxes = of.closest("svg") ? [of.getBoundingClientRect()] : range.getClientRects();
			for (const box of boxes)
				if (box.width > 0 && of.checkVisibility({ opacityProperty: true, visibilityProperty: true }))
					lines.push({ words: node.data.trim().slice(0, 60), box, of });
		}

		const overlaps = [];
		lines.sort((a, b) => a.box.top - b.box.top);
		for (const [i, a] of lines.entries())
			for (const b of lines.slice(i + 1)) {
				if (b.box.top > a.box.bottom - 2) break;
				const wide = Math.min(a.box.right, b.box.right) - Math.max(a.box.left, b.box.left);
				const high = Math.min(a.box.bottom, b.box.bottom) - b.box.top;
				if (wide > 1 && high > 2) overlaps.push(`${a.words} | ${b.words}`);
			}

		// By the window, by what does not show what lies outside of it, or by dots.
		const isCut = ({ box, of, words }) => {
			if (box.left < -1 || box.right > innerWidth + 1 || (of.closest("svg") && words.endsWith("…"))) return true;
			for (let around = of; around !== document.body; around = around.parentElement) {
				const edge = around.getBoundingClientRect();
				const clips = getComputedStyle(around).overflowX !== "visible" && !around.closest("svg svg");
				if (clips && around.clientWidth !== 0 && (box.left < edge.left - 1 || box.right > edge.right + 1)) return true;
			}
			return false;
		};

		const channels = (colour) => {
			const [r, g, b, a = 1] = colour.match(/[\d.]+/g).map(Number);
			return { rgb: [r, g, b], a };
		};
		const luminance = (rgb) => {
			const [r, g, b] = rgb.map((c) => c / 255).map((c) => (c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4));
			return 0.2126 * r + 0.7152 * g + 0.0722 * b;
		};
		const contrast = ({ of }) => {
			const style = getComputedStyle(of);
			const ink = channels(of.closest("svg") ? style.fill : style.color);
			let opacity = ink.a;
			let behind = null;
			for (let around = of; around; around = around.parentElement) {
				const own = getComputedStyle(around);
				if (behind === null) opacity *= Number(own.opacity) * (around.namespaceURI.endsWith("svg") ? Number(own.fillOpacity) ** (around === of) : 1);
				const ground = channels(own.backgroundColor);
				if (behind === null && ground.a > 0) behind = ground.rgb;
			}
			const seen = ink.rgb.map((c, i) => opacity * c + (1 - opacity) * behind[i]);
			const [low, high] = [luminance(seen), luminance(behind)].sort((a, b) => a - b);
			return (high + 0.05) / (low + 0.05);
		};

		// Heads that are not there any more when their table is half read; cards have none.
		const gone = [...document.querySelectorAll("table:not(.cards)")].filter((table) => {
			scrollTo(0, table.getBoundingClientRect().top + scrollY + 30);
			const isScrolled = table.getBoundingClientRect().top < -20 && table.offsetHeight > 150;
			return isScrolled && Math.abs(table.tHead.getBoundingClientRect().top - table.tHead.rows[0].cells[0].getBoundingClientRect().top) < 20;
		});
		scrollTo(0, 0);

		const levels = [...document.querySelectorAll("h1, h2, h3, h4, h5, h6")].map((h) => Number(h.tagName[1]));
		const ratios = lines.map(contrast);
		const links = [...document.querySelectorAll('a[href^="#"]')].map((a) => a.hash);
		parent.postMessage({
			width: innerWidth,
			dark: dark.matches,
			lines: lines.length,
			charts: document.querySelectorAll(".chart svg").length,
			overlaps,
			cut: [
				...lines.filter(isCut).map((line) => line.words),
				...(document.documentElement.scrollWidth > innerWidth ? ["the page"] : []),
			],
			pale: lines.filter((_, i) => ratios[i] < 4.5).map((line) => line.words),
			contrast: Math.min(...ratios),
			skipped: levels.filter((level, i) => level > (levels[i - 1] ?? 0) + 1).length,
			nameless: [...document.querySelectorAll("table:not(:has(caption)), [role=img]:not([aria-label]), img:not([alt])")].length,
			gone: gone.map((table) => table.caption.textContent),
			dead: links.filter((hash) => !document.getElementById(hash.slice(1))),
		}, "*");
	};

	const dark = matchMedia("(prefers-color-scheme: dark)");
	tell();
	while (!dark.matches) await pause(50);
	tell();
})();
