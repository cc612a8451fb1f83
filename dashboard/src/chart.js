// Line charts over time, each accompanied by its content as text.
import {
  Chart, Filler, LineController, LineElement, LinearScale, PointElement, Tooltip,
} from "/usr/share/javascript/chart.js/chart.mjs";
import { Vue, el } from "./el.js";
import { clock, moment, rate } from "./format.js";

Chart.register(LineController, LineElement, PointElement, LinearScale, Filler, Tooltip);

const colorOf = (name) =>
  getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();

const isMissing = (value) => value === null || value === undefined;

function datasets(series, at) {
  return series.map((one, index) => ({
    label: one.name,
    data: one.values.map((value, i) => ({ x: at[i], y: value })),
    borderColor: colorOf(one.color),
    backgroundColor: `${colorOf(one.color)}22`,
    borderWidth: 1.5,
    // A value between two missing values is drawn as a point, because no line reaches it.
    pointRadius: one.values.map((_, i) => (isMissing(one.values[i - 1]) &&
      isMissing(one.values[i + 1]) ? 2 : 0)),
    pointHitRadius: 8,
    fill: index === 0,
    tension: 0,
    clip: 6,
  }));
}

// The minimum span of the time axis: a server that has just started has hardly any data.
const kSpanMsMin = 10 * 60000;

function options(at, format) {
  const text = colorOf("muted");
  const grid = { color: colorOf("line"), drawBorder: false, tickLength: 4 };
  return {
    animation: false, responsive: true, maintainAspectRatio: false, normalized: true,
    parsing: false, interaction: { mode: "index", intersect: false },
    scales: {
      x: { type: "linear", grid: { display: false },
        max: at.at(-1), min: Math.min(at[0], at.at(-1) - kSpanMsMin),
        ticks: { color: text, maxTicksLimit: 7, maxRotation: 0, font: { size: 11 },
          callback: (value) => clock(value) } },
      y: { beginAtZero: true, suggestedMax: 1, grid,
        ticks: { color: text, maxTicksLimit: 4, font: { size: 11 },
          callback: (value) => format(value) } },
    },
    plugins: { tooltip: { callbacks: {
      title: (items) => moment(items[0].parsed.x),
      label: (item) => ` ${item.dataset.label}: ${format(item.parsed.y)}`,
    } } },
  };
}

// Missing values in a series are null.
const lastOf = (values) => values.findLast((value) => value !== null) ?? null;

function inWords(series, at, format) {
  return series.map((one) => {
    const known = one.values.filter((value) => value !== null);
    if (known.length === 0) return `${one.name}: nothing`;
    const highest = Math.max(...known);
    const when = at[one.values.indexOf(highest)];
    return `${one.name}: last ${format(lastOf(one.values))}, ` +
      `highest ${format(highest)} at ${clock(when)}`;
  }).join("; ");
}

const Canvas = Vue.extend({
  props: ["series", "at", "theme", "format"],
  mounted() {
    this.chart = new Chart(this.$el.firstChild, {
      type: "line", data: { datasets: datasets(this.series, this.at) },
      options: options(this.at, this.format),
    });
  },
  watch: {
    at() { this.show(); },
    theme() { this.$nextTick(() => this.show()); },
  },
  beforeDestroy() { this.chart.destroy(); },
  methods: {
    show() {
      this.chart.data = { datasets: datasets(this.series, this.at) };
      this.chart.options = options(this.at, this.format);
      this.chart.update("none");
    },
  },
  render() {
    return el("div.canvas", el("canvas", { role: "img",
      "aria-label": inWords(this.series, this.at, this.format) }));
  },
});

// `series` is [{name, values, color}]; `format` converts a value to text.
export function chart(title, unit, series, at, theme, format = rate) {
  return el("figure.chart", { key: title },
    el("figcaption", el("strong", title), el("span.muted", unit),
      el("span.legend", series.map((one) => el("span", { key: one.name },
        el("i", { class: one.color, "aria-hidden": "true" }), one.name, " ",
        el("b", format(lastOf(one.values))))))),
    el(Canvas, { props: { series, at, theme, format } }));
}
