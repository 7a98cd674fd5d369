// Draws every figure in the reader's theme, folded ones when they are opened, and again when the
// theme changes.  Colours in the specifications are tokens; here they get their value.
(() => {
	"use strict";
	const { themes, specs } = JSON.parse(document.getElementById("figures").textContent);
	const dark = matchMedia("(prefers-color-scheme: dark)");
	const narrow = matchMedia("(max-width: 640px)");
	const views = new Map();

	const resolve = (node, theme) => {
		if (typeof node === "string") return Object.hasOwn(theme, node) ? theme[node] : node;
		if (Array.isArray(node)) return node.map((item) => resolve(item, theme));
		if (node === null || typeof node !== "object") return node;
		return Object.fromEntries(Object.entries(node).map(([key, value]) => [key, resolve(value, theme)]));
	};

	const draw = async (element, theme) => {
		const id = element.dataset.figure;
		const spec = resolve(specs[id], theme);
		if (narrow.matches) spec.config.legend = { ...spec.config.legend, columns: 2 };
		views.get(id)?.finalize();
		views.set(id, await window.vegaEmbed(element, spec, { actions: false, renderer: "canvas" }));
	};

	const isFolded = (element) => element.closest("details:not([open])") !== null;
	const drawAll = (theme) => {
		for (const swatch of document.querySelectorAll("[data-colour]"))
			swatch.style.background = theme[swatch.dataset.colour];
		for (const element of document.querySelectorAll(".chart"))
			if (!isFolded(element)) draw(element, theme).catch(console.error);
	};
	const current = () => (dark.matches ? themes.dark : themes.light);

	for (const fold of document.querySelectorAll("details"))
		fold.addEventListener("toggle", () => {
			for (const element of fold.querySelectorAll(".chart"))
				if (!isFolded(element)) draw(element, current()).catch(console.error);
		});
	dark.addEventListener("change", () => drawAll(current()));
	narrow.addEventListener("change", () => drawAll(current()));
	addEventListener("beforeprint", () => drawAll(themes.light));
	addEventListener("afterprint", () => drawAll(current()));
	drawAll(current());
})();
