// Lines over time. What they say is also said in words, beside them.
import {
  Chart, Filler, LineController, LineElement, LinearScale, PointElement, Tooltip,
} from "/usr/share/javascript/chart.js/chart.mjs";
import { Vue, el } from "./el.js";
import { clock, moment, rate } from "./format.js";

Chart.register(LineController, LineElement, PointElement, LinearScale, Filler, Tooltip);

const colorOf = (name) =>
  getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();

function datasets(series, at) {
  return series.map((one, index) => ({
    label: one.name,
    data: one.values.map((value, i) => ({ x: at[i], y: value })),
    borderColor: colorOf(one.color),
    backgroundColor: `${colorOf(one.color)}22`,
    borderWidth: 1.5,
    pointRadius: at.length < 3 ? 2 : 0,
    pointHitRadius: 8,
    fill: index === 0,
    tension: 0,
    clip: 6,
  }));
}

// What there is, but not less than this: a server that has just begun has hardly a line.
const kSpanMsMin = 10 * 60000;

function options(at) {
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
          callback: (value) => rate(value) } },
    },
    plugins: { tooltip: { callbacks: {
      title: (items) => moment(items[0].parsed.x),
      label: (item) => ` ${item.dataset.label}: ${rate(item.parsed.y)}`,
    } } },
  };
}

function inWords(series, at) {
  return series.map((one) => {
    const highest = Math.max(...one.values);
    const when = at[one.values.indexOf(highest)];
    return `${one.name}: now ${rate(one.values.at(-1))}, ` +
      `highest ${rate(highest)} at ${clock(when)}`;
  }).join("; ");
}

const Canvas = Vue.extend({
  props: ["series", "at", "theme"],
  mounted() {
    this.chart = new Chart(this.$el.firstChild, {
      type: "line", data: { datasets: datasets(this.series, this.at) }, options: options(this.at),
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
      this.chart.options = options(this.at);
      this.chart.update("none");
    },
  },
  render() {
    return el("div.canvas", el("canvas", { role: "img",
      "aria-label": inWords(this.series, this.at) }));
  },
});

// series: [{name, values, color}]
export function chart(title, unit, series, at, theme) {
  return el("figure.chart", { key: title },
    el("figcaption", el("strong", title), el("span.muted", unit),
      el("span.legend", series.map((one) => el("span", { key: one.name },
        el("i", { class: one.color, "aria-hidden": "true" }), one.name, " ",
        el("b", rate(one.values.at(-1))))))),
    el(Canvas, { props: { series, at, theme } }));
}
