"use strict";
// Plays recorded steps. It sets texts and classes that the trace holds, and knows no algorithm.
(async () => {
  const box = document.getElementById("data");
  // In a report's site the steps are packed: they are a tenth of their size then.
  const unpacked = async (text) => {
    const bytes = Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
    return new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"))).json();
  };
  const data = box.type === "application/json" ? JSON.parse(box.textContent) : await unpacked(box.textContent);
  const $ = (id) => document.getElementById(id);
  const [KIND, TEXT, LAUNCH, KERNEL, BLOCK, THREAD, SITE, COUNT, FOCUS, LOOKS] = Array(10).keys();
  const BEAT = 1300; // milliseconds a step, while playing

  let story, run, at = 0; // steps taken: 0 is before the first
  let parts = new Map(), marked = [], timer = null;
  let looks = new Map(), undo = [];

  const make = (tag, attributes = {}, ...children) => {
    const made = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes)) {
      if (name.startsWith("on")) made.addEventListener(name.slice(2), value);
      else if (value !== false && value !== null) made.setAttribute(name, value);
    }
    made.append(...children);
    return made;
  };

  // ---------------------------------------------------------------- what a part looks like

  function show(key) {
    const part = parts.get(key);
    if (!part) return;
    const [text = "", classes = "", style = ""] = looks.get(key) || [];
    part.write.textContent = text;
    part.element.setAttribute("class", `${part.base} ${classes}`.trim());
    if (style) part.element.setAttribute("style", style);
  }

  function set(key, look) { looks.set(key, look); show(key); }

  function reset() {
    looks = new Map(run.initial.map(([key, ...look]) => [key, look]));
    for (const key of parts.keys()) show(key);
    undo = [];
    at = 0;
  }

  function forward() {
    const step = run.steps[at];
    undo.push(step[LOOKS].map(([key]) => [key, looks.get(key)]));
    for (const [key, ...look] of step[LOOKS]) set(key, look);
    at += 1;
  }

  function backward() {
    for (const [key, look] of undo.pop()) set(key, look);
    at -= 1;
  }

  // ---------------------------------------------------------------- a second run beside

  const second = { run: null, parts: new Map(), looks: new Map(), at: 0 };

  function draw(box) {
    box.replaceChildren(...story.panels.map(([name, title, skeleton]) => {
      const panel = make("section", { class: "card panel", "data-panel": name }, make("h2", {}, title));
      const body = make("div", { class: "body", role: "group", "aria-label": title, tabindex: 0 });
      body.innerHTML = skeleton;
      panel.append(body);
      return panel;
    }));
    const found = new Map();
    for (const element of box.querySelectorAll("[data-key]")) {
      const write = element.querySelector("text") || element;
      found.set(element.dataset.key, { element, write, base: element.getAttribute("class") || "" });
    }
    return found;
  }

  function chooseSecond(number) {
    second.run = Number.isInteger(number) ? story.runs[number] || null : null;
    $("second").hidden = second.run === null;
    $("beside").value = second.run ? String(number) : "";
    document.querySelector(".stage").classList.toggle("two", second.run !== null);
    second.parts = second.run ? draw($("second-panels")) : new Map();
    if (!second.run) $("second-panels").replaceChildren();
    else $("second-name").textContent = `${second.run.label}:`;
    second.at = Infinity;
  }

  // As many told steps into the same launch as the run that plays, or that launch's end.
  function alongside() {
    const now = at ? run.steps[at - 1][LAUNCH] : 0;
    let told = run.steps.slice(0, at).filter((step) => step[LAUNCH] === now && !minor(step)).length;
    let to = 0;
    second.run.steps.forEach((step, k) => {
      if (step[LAUNCH] < now) to = k + 1;
      else if (step[LAUNCH] === now && told > 0) { to = k + 1; if (!minor(step)) told -= 1; }
    });
    return at === run.steps.length ? second.run.steps.length : to;
  }

  function follow2() {
    if (!second.run) return;
    const to = alongside();
    if (to < second.at) { second.looks = new Map(second.run.initial.map(([key, ...look]) => [key, look])); second.at = 0; }
    for (; second.at < to; second.at++) for (const [key, ...look] of second.run.steps[second.at][LOOKS]) second.looks.set(key, look);
    for (const [key, part] of second.parts) {
      const look = second.looks.get(key) || [];
      const [text = "", classes = "", style = ""] = look;
      part.write.textContent = text;
      const other = JSON.stringify(looks.get(key) || []) === JSON.stringify(look) ? "" : " differs";
      part.element.setAttribute("class", `${part.base} ${classes}${other}`.trim());
      if (style) part.element.setAttribute("style", style);
    }
    const step = to ? second.run.steps[to - 1] : null;
    $("second-sentence").textContent = step ? step[TEXT] : "";
    for (const key of step ? step[FOCUS] : []) second.parts.get(key)?.element.classList.add("now");
  }

  // ---------------------------------------------------------------- moving

  const minor = (step) => !step[KIND] || (data.words[step[KIND]] || [])[2];
  const stops = (step) => $("all").checked || !minor(step);

  function go(to) {
    to = Math.max(0, Math.min(run.steps.length, to));
    for (const key of marked) parts.get(key)?.element.classList.remove("now", "changed");
    marked = [];
    while (at < to) forward();
    while (at > to) backward();
    tell();
  }

  function next(wanted = stops) {
    for (let k = at; k < run.steps.length; k++) if (wanted(run.steps[k])) return go(k + 1);
    go(run.steps.length);
  }

  function previous(wanted = stops) {
    for (let k = at - 2; k >= 0; k--) if (wanted(run.steps[k])) return go(k + 1);
    go(0);
  }

  const begins = (step) => step[KIND] === "launch" || step[KIND] === "restart";

  function play(on) {
    clearInterval(timer);
    timer = on ? setInterval(() => (at < run.steps.length ? next() : play(false)), BEAT) : null;
    $("play").setAttribute("aria-pressed", String(on));
    $("play").setAttribute("aria-label", on ? "Stop" : "Play");
    $("play").textContent = on ? "Stop" : "Play";
  }

  // ---------------------------------------------------------------- telling the present step

  function tell() {
    const step = at ? run.steps[at - 1] : null;
    const word = (step && data.words[step[KIND]]) || null;
    const restless = step ? step[LOOKS].map(([key]) => key) : [];
    const focus = step ? step[FOCUS] : [];
    for (const key of restless) parts.get(key)?.element.classList.add("changed");
    for (const key of focus) parts.get(key)?.element.classList.add("now");
    marked = [...new Set([...restless, ...focus])];
    $("sentence").textContent = step ? step[TEXT] : "Before the first launch. Press → to begin.";
    $("kind").textContent = step ? (word ? word[0] : "changes") : "start";
    $("kind").dataset.kind = step ? step[KIND] : "";
    $("who").textContent = step ? who(step) : "";
    $("paper-line").textContent = word && word[1] ? `In the paper: ${word[1]}.` : "";
    source(step);
    threads(step);
    launches(step);
    follow2();
    $("at").value = at;
    $("at").setAttribute("aria-valuetext", `step ${at} of ${run.steps.length}`);
    $("count").textContent = `${at} / ${run.steps.length}`;
    for (const item of $("log").querySelectorAll("[aria-current]")) item.removeAttribute("aria-current");
    const item = $("log").children[at - 1];
    if (item) item.setAttribute("aria-current", "step");
    $("back").disabled = $("first").disabled = at === 0;
    $("next").disabled = $("last").disabled = at === run.steps.length;
    const beside = second.run ? `/${story.runs.indexOf(second.run)}` : "";
    const place = `#${story.name}/${story.runs.indexOf(run)}/${at}${beside}`;
    history.replaceState(null, "", place);
  }

  function who(step) {
    if (begins(step) || !step[KERNEL]) return step[KERNEL] ? `launch ${step[LAUNCH]}: ${step[KERNEL]}` : "host";
    const lane = step[BLOCK] < 0 ? (step[SITE] < 0 ? "host, before it" : "the grid")
      : step[THREAD] < 0 ? `block ${step[BLOCK]}` : `block ${step[BLOCK]}, thread ${step[THREAD]}`;
    return `launch ${step[LAUNCH]}: ${step[KERNEL]}, ${lane}`;
  }

  function source(step) {
    const box = $("source"), line = $("source-line");
    line.replaceChildren();
    if (!step || step[SITE] < 0) { box.replaceChildren(); box.hidden = true; return; }
    const [number, at_, name] = data.sites[step[SITE]];
    const text = data.functions[number];
    line.append("In the code: ", make("a", { href: text.link.endsWith(".html") ? `${text.link}#L${at_}` : text.link }, `${text.file}:${at_}`), ` (${name})`);
    box.hidden = false;
    box.replaceChildren(...text.lines.map((words, k) => make(
      "span", { class: text.numbers[k] === at_ ? "line here" : "line", "data-number": text.numbers[k] }, words + "\n")));
    const here = box.querySelector(".here");
    if (here) box.scrollTop = here.offsetTop - box.offsetTop - box.clientHeight / 2;
  }

  function threads(step) {
    const lanes = new Map();
    if (step) {
      let k = at - 1;
      while (k > 0 && run.steps[k - 1][LAUNCH] === step[LAUNCH]) k -= 1;
      for (; k < at; k++) {
        const one = run.steps[k];
        if (one[THREAD] >= 0 && one[KIND]) lanes.set(`${one[BLOCK]}.${one[THREAD]}`, one);
      }
    }
    const rows = [...lanes].sort((a, b) => a[0].localeCompare(b[0], "en", { numeric: true })).map(([lane, one]) =>
      make("tr", { class: one === step ? "now" : null },
        make("th", { scope: "row" }, `block ${one[BLOCK]} · ${one[THREAD]}`), make("td", {}, one[TEXT])));
    $("threads").replaceChildren(...(rows.length ? rows : [make("tr", {}, make("td", { class: "quiet" }, "None has done anything to be told yet."))]));
  }

  function launches(step) {
    const now = step ? step[LAUNCH] : 0;
    for (const chip of $("launches").children) {
      const here = Number(chip.dataset.launch) === now;
      chip.classList.toggle("here", here);
      chip.classList.toggle("over", Number(chip.dataset.launch) < now);
      if (here) {
        chip.setAttribute("aria-current", "step");
        const row = $("launches");
        row.scrollLeft = chip.offsetLeft - row.offsetLeft - row.clientWidth / 2 + chip.clientWidth / 2;
      } else chip.removeAttribute("aria-current");
    }
  }

  // ---------------------------------------------------------------- choosing a story and a run

  function chooseStory(number) {
    story = data.stories[number];
    [...$("stories").children].forEach((button, k) => button.setAttribute("aria-pressed", String(k === number)));
    $("caption").textContent = story.caption;
    $("axis").textContent = story.axis === "version" ? "Version" : "Interleaving";
    parts = draw($("panels"));
    marked = [];
    $("beside").replaceChildren(make("option", { value: "" }, "none"),
      ...story.runs.map((one, k) => make("option", { value: k }, one.label)));
    $("beside").parentElement.hidden = story.axis === "version"; // their launches have no counterparts
    chooseSecond(null);
    $("run").max = story.runs.length - 1;
    $("run").parentElement.hidden = story.runs.length < 2;
    chooseRun(0);
  }

  function chooseRun(number, to = null) {
    const launch = run && at ? run.steps[at - 1]?.[LAUNCH] : 0;
    const same = run && story.runs.includes(run);
    play(false);
    run = story.runs[number];
    marked = [];
    reset();
    $("run").value = number;
    $("run").setAttribute("aria-valuetext", run.label);
    $("run-name").textContent = `${run.label} · ${number + 1} of ${story.runs.length}`;
    const button = $("to-difference");
    button.hidden = run.differs === null;
    button.textContent = `go to where it leaves “${story.runs[0].label}”`;
    $("at").max = run.steps.length;
    fill();
    if (to === null) {
      const k = same && launch ? run.steps.findIndex((step) => step[LAUNCH] === launch) : -1;
      to = k >= 0 ? k + 1 : 0;
    }
    go(to);
  }

  function fill() {
    const first = new Map();
    run.steps.forEach((step, k) => { if (begins(step)) first.set(step[LAUNCH], k); });
    $("launches").replaceChildren(...[...first].map(([launch, k]) => make("button", {
      type: "button", "data-launch": launch, class: run.steps[k][KIND] === "restart" ? "again" : null,
      onclick: () => go(k + 1), title: run.steps[k][TEXT],
    }, run.steps[k][KERNEL])));
    const count = {};
    for (const step of run.steps) if (step[KIND]) count[step[KIND]] = (count[step[KIND]] || 0) + 1;
    const told = new Set(Object.keys(count));
    $("kinds").replaceChildren(...Object.keys(data.words).filter((kind) => told.has(kind)).map((kind) => make("button", {
      type: "button", "data-kind": kind, title: "the next; with Shift the one before",
      onclick: (event) => {
        const wanted = (step) => step[KIND] === kind;
        const after = run.steps.findIndex((step, k) => k >= at && wanted(step));
        if (event.shiftKey) previous(wanted);
        else if (after >= 0) go(after + 1);
        else go(run.steps.findIndex(wanted) + 1);
      },
    }, `${data.words[kind][0]} `, make("small", {}, String(count[kind])))));
    $("ticks").replaceChildren(...run.steps.flatMap((step, k) => minor(step) || step[KIND] === "launch" ? [] : [make("i", {
      "data-kind": step[KIND], style: `left:${((k + 1) / run.steps.length * 100).toFixed(2)}%` })]));
    $("log").replaceChildren(...run.steps.map((step, k) => make("li", { class: `${minor(step) ? "minor" : ""} ${begins(step) ? "begins" : ""}` },
      make("button", { type: "button", onclick: () => go(k + 1) }, step[TEXT]))));
    $("log").classList.toggle("all", $("all").checked);
  }

  // ---------------------------------------------------------------- controls

  data.stories.forEach((one, k) => $("stories").append(make("button", {
    type: "button", "aria-pressed": "false", onclick: () => chooseStory(k) }, one.title)));
  $("stories").hidden = data.stories.length < 2;
  $("run").addEventListener("input", () => chooseRun(Number($("run").value)));
  $("at").addEventListener("input", () => { play(false); go(Number($("at").value)); });
  $("to-difference").addEventListener("click", () => go(run.differs + 1));
  $("beside").addEventListener("change", () => {
    chooseSecond($("beside").value === "" ? null : Number($("beside").value));
    go(at);
  });
  $("first").addEventListener("click", () => go(0));
  $("last").addEventListener("click", () => go(run.steps.length));
  $("next").addEventListener("click", () => next());
  $("back").addEventListener("click", () => previous());
  $("play").addEventListener("click", () => play(timer === null));
  $("all").addEventListener("change", () => $("log").classList.toggle("all", $("all").checked));
  $("theme").addEventListener("click", () => {
    const root = document.documentElement;
    const dark = root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
    root.dataset.theme = dark ? "light" : "dark";
  });
  document.addEventListener("keydown", (event) => {
    if (event.altKey || event.ctrlKey || event.metaKey) return;
    const typing = event.target.matches("input[type=range], select");
    const turn = (by) => chooseRun((story.runs.indexOf(run) + by + story.runs.length) % story.runs.length);
    const keys = {
      ArrowRight: () => (event.shiftKey ? next(begins) : next()),
      ArrowLeft: () => (event.shiftKey ? previous(begins) : previous()),
      Home: () => go(0), End: () => go(run.steps.length),
      "[": () => turn(-1), "]": () => turn(1),
    };
    if (event.key === " " && !event.target.matches("button, summary, input")) keys[" "] = () => play(timer === null);
    if (typing && event.key in { ArrowRight: 1, ArrowLeft: 1, Home: 1, End: 1 }) return;
    if (keys[event.key]) { event.preventDefault(); keys[event.key](); }
  });

  function follow() {
    const [name, number, to, beside] = decodeURIComponent(location.hash.slice(1)).split("/");
    const found = data.stories.findIndex((one) => one.name === name);
    chooseStory(Math.max(0, found));
    if (story.runs[Number(number)]) chooseRun(Number(number), Number(to) || 0);
    if (beside && story.runs[Number(beside)]) { chooseSecond(Number(beside)); go(at); }
  }
  follow();
})();
