// The page in headless Chromium: node --test page.mjs, with the folder of the pages in PAGES.
import assert from "node:assert/strict";
import { existsSync, mkdirSync } from "node:fs";
import { join, resolve } from "node:path";
import { after, before, test } from "node:test";
import { pathToFileURL } from "node:url";
import { chromium } from "playwright-core";

const pages = resolve(process.env.PAGES);
const shots = process.env.SHOTS && resolve(process.env.SHOTS);
const names = ["red", "green", "hostile", "large"];
const wide = { width: 1280, height: 900 };
const phone = { width: 390, height: 844 };

let browser;
before(async () => {
  // A container has no user namespaces for the sandbox; the pages are our own and load nothing.
  browser = await chromium.launch({ executablePath: process.env.CHROMIUM, args: ["--no-sandbox"] });
});
after(() => browser?.close());

/** Opens a page; what it says on the console and asks the network for is collected. */
async function open(name, { viewport = wide, colorScheme = "light", javaScriptEnabled = true } = {}) {
  const context = await browser.newContext({ viewport, colorScheme, javaScriptEnabled });
  const page = await context.newPage();
  const file = join(pages, name, "page.html");
  assert.ok(existsSync(file), `${file} is missing: cargo test --test reports writes it`);
  const url = pathToFileURL(file).href;
  const complaints = [];
  page.on("console", (message) => complaints.push(message.text()));
  page.on("pageerror", (error) => complaints.push(String(error)));
  page.on("dialog", (dialog) => { complaints.push(`a dialog: ${dialog.message()}`); dialog.dismiss(); });
  page.on("request", (request) => {
    const asked = request.url();
    if (asked !== url && !asked.startsWith("data:")) complaints.push(`a request for ${asked}`);
  });
  await page.goto(url);
  return { page, complaints, done: () => context.close() };
}

for (const name of names) {
  test(`${name}: nothing on the console, nothing from the network, no sideways scrolling`, async () => {
    for (const [view, viewport] of [["desktop", wide], ["phone", phone]]) {
      for (const colorScheme of ["light", "dark"]) {
        const { page, complaints, done } = await open(name, { viewport, colorScheme });
        await page.click("#open");
        const [content, window] = await page.evaluate(() => [document.documentElement.scrollWidth, innerWidth]);
        assert.ok(content <= window, `${content} px of content in ${window} px of ${view}`);
        assert.deepEqual(complaints, []);
        if (shots && name !== "large") {
          mkdirSync(shots, { recursive: true });
          await page.screenshot({ path: join(shots, `${name}-${view}-${colorScheme}.png`), fullPage: true });
        }
        await done();
      }
    }
  });
}

test("red: the first wrong step is marked, with its cause, and can be seen", async () => {
  for (const javaScriptEnabled of [true, false]) {
    const { page, done } = await open("red", { javaScriptEnabled });
    const section = page.locator("details.case", { has: page.getByText("ssm::states_joined", { exact: true }) });
    const first = section.locator(".flow .first");
    assert.equal(await first.count(), 1);
    await first.scrollIntoViewIfNeeded();
    assert.ok(await first.isVisible());
    const text = (await first.locator("text").allTextContents()).join(" ");
    assert.match(text, /✗ states .*joined on axis 0.*batch and time folded/);
    const [red, green, blue] = await first.locator("rect").evaluate((box) => getComputedStyle(box).stroke.match(/\d+/g).map(Number));
    assert.ok(red > 2 * green && red > 2 * blue, `rgb(${red}, ${green}, ${blue}) is no red`);
    assert.match(await section.locator(".flow text.bad").first().textContent(), /\(b·l, n\) = /);
    await done();
  }
});

test("red: a gradient that stops has its mark between the two taps", async () => {
  const { page, done } = await open("red");
  const section = page.locator("details.case", { has: page.getByText("ssm::state_detached", { exact: true }) });
  const middle = async (locator) => { const box = await locator.boundingBox(); return box.y + box.height / 2; };
  const step = (name) => section.locator(".flow .step", { has: page.getByText(name, { exact: true }) }).first();
  const cut = await middle(section.locator(".rail .cut"));
  assert.ok((await middle(step("projected"))) < cut && cut < (await middle(step("state"))));
  await done();
});

test("green: nothing is marked, and sections are closed", async () => {
  const { page, done } = await open("green");
  assert.equal(await page.locator(".first, .wrong, [data-bad], .bad").count(), 0);
  assert.equal(await page.locator("details.case[open]").count(), 0);
  await page.click("#open");
  assert.ok(await page.locator(".flow").first().isVisible());
  assert.equal(await page.locator(".scope.loop").count() > 0, true);
  await done();
});

test("red: the theme follows the system and can be changed", async () => {
  for (const [colorScheme, dark] of [["light", false], ["dark", true]]) {
    const { page, done } = await open("red", { colorScheme });
    const isDark = () => page.evaluate(() => Number(getComputedStyle(document.body).backgroundColor.match(/\d+/)[0]) < 128);
    assert.equal(await isDark(), dark);
    await page.click("#theme");
    assert.equal(await isDark(), !dark);
    await page.click("#theme");
    assert.equal(await isDark(), dark);
    await done();
  }
});

test("red: every control is reached by the keyboard, seen when it is, and works", async () => {
  const { page, done } = await open("red");
  const wanted = await page.locator("a[href], button, input, summary, pre[tabindex], .table").evaluateAll(
    (all) => all.filter((one) => one.checkVisibility()).length);
  const seen = new Set();
  for (let i = 0; i < wanted; i += 1) {
    await page.keyboard.press("Tab");
    const focus = await page.evaluate(() => {
      const one = document.activeElement;
      one.dataset.seen ??= String(document.querySelectorAll("[data-seen]").length + 1);
      const { outlineStyle, outlineWidth } = getComputedStyle(one);
      const { left, right } = one.getBoundingClientRect();
      return { id: one.dataset.seen, what: one.outerHTML.slice(0, 80), outline: `${outlineStyle} ${outlineWidth}`, left, right };
    });
    assert.equal(focus.outline, "solid 2px", focus.what);
    assert.ok(focus.right > 0 && focus.left < wide.width, `out of sight: ${focus.what}`);
    seen.add(focus.id);
  }
  assert.equal(seen.size, wanted);

  await page.reload();
  await page.keyboard.press("Tab");
  await page.keyboard.press("Enter");
  assert.equal(await page.evaluate(() => document.activeElement.id), "main");
  const summary = page.locator("details.case > summary").first();
  const opened = () => page.locator("details.case").first().evaluate((one) => one.open);
  const before = await opened();
  await summary.focus();
  await page.keyboard.press("Enter");
  assert.equal(await opened(), !before);
  await done();
});

test("red: the filter and the links of the matrix", async () => {
  const { page, done } = await open("red");
  const rows = () => page.locator(".matrix tbody tr:visible").count();
  const all = await rows();
  await page.fill("#words", "ssm::");
  assert.ok((await rows()) > 0 && (await rows()) < all);
  await page.fill("#words", "");
  await page.check("#only");
  assert.equal(await rows(), await page.locator(".matrix tr[data-bad]").count());
  await page.uncheck("#only");
  await page.click("#close");
  await page.click(".matrix tbody a >> text=mamba2::changed");
  const target = page.locator("details.case[open]");
  assert.equal(await target.count(), 1);
  assert.match(await target.locator(".diff ins").first().textContent(), /^\+states \(b, l, n\)/);
  await done();
});

test("texts have the contrast of WCAG AA in both themes", async () => {
  for (const colorScheme of ["light", "dark"]) {
    const { page, done } = await open("red", { colorScheme });
    await page.click("#open");
    const weak = await page.evaluate(() => {
      const canvas = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
      const channels = (colour) => {
        canvas.clearRect(0, 0, 1, 1); canvas.fillStyle = colour; canvas.fillRect(0, 0, 1, 1);
        return [...canvas.getImageData(0, 0, 1, 1).data];
      };
      const light = ([r, g, b]) => {
        const [x, y, z] = [r, g, b].map((v) => v / 255).map((v) => (v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4));
        return 0.2126 * x + 0.7152 * y + 0.0722 * z;
      };
      const behind = (one) => {
        const box = one.closest(".step, .flow g")?.querySelector("rect");
        const fill = box && one instanceof SVGElement ? getComputedStyle(box).fill : "none";
        if (fill !== "none") return channels(fill);
        for (let at = one; at; at = at.parentElement) {
          const colour = channels(getComputedStyle(at).backgroundColor);
          if (colour[3] === 255) return colour;
        }
        return [255, 255, 255];
      };
      const texts = [...document.querySelectorAll("h1, h2, h3, h4, p, li, a, th, td, code, pre, del, ins, button, summary, figcaption, .flow text")];
      const contrast = (one) => {
        const style = getComputedStyle(one);
        const [a, b] = [light(channels(one instanceof SVGElement ? style.fill : style.color)), light(behind(one))];
        return (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
      };
      return texts.filter((one) => one.checkVisibility() && contrast(one) < 4.5)
        .map((one) => `${contrast(one).toFixed(2)}: ${one.outerHTML.slice(0, 90)}`);
    });
    assert.deepEqual(weak, []);
    await done();
  }
});

test("red: it prints on white, with what failed open", async () => {
  const { page, done } = await open("red", { colorScheme: "dark" });
  await page.click("#close");
  await page.evaluate(() => dispatchEvent(new Event("beforeprint")));
  await page.emulateMedia({ media: "print" });
  assert.ok((await page.locator("details.case[open]").count()) > 0);
  assert.equal(await page.locator("#theme:visible, .filter:visible").count(), 0);
  assert.ok(await page.evaluate(() => Number(getComputedStyle(document.body).backgroundColor.match(/\d+/)[0]) > 200));
  await done();
});
