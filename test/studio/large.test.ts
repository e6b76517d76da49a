/** The studio on a large store: few elements, little memory, and little to do in a frame. In the gate the store is a tenth of that in `npm run prove`. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Page } from 'playwright-core';
import { makeLargeStore, type LargeSizes } from '../support/large-store.ts';
import { isProving } from '../support/scale.ts';
import { absent, faultsOf, StudioServer } from '../support/studio.ts';

const sizes: LargeSizes = isProving
  ? { runs: 10_000, questions: 1_000, nodes: 2_000, visitsOfEach: 5 }
  : { runs: 600, questions: 60, nodes: 300, visitsOfEach: 2 };
const elementsMax = 1_500;
const heapMax = 50 * 1024 * 1024;

const studio = new StudioServer();
let isThere = false;
beforeAll(async () => {
  await makeLargeStore(`${studio.folder}/runs.sqlite`, sizes);
  isThere = await studio.open();
}, 600_000);
afterAll(() => studio.close());

async function measure(page: Page): Promise<{ readonly elements: number; readonly heapBytes: number }> {
  return (await page.evaluate(
    '(globalThis.gc?.(), { elements: document.querySelectorAll("*").length, heapBytes: performance.memory.usedJSHeapSize })',
  )) as { readonly elements: number; readonly heapBytes: number };
}

async function expectSmall(page: Page, what: string): Promise<void> {
  const { elements, heapBytes } = await measure(page);
  console.log(`studio, ${what}: ${elements} elements, ${(heapBytes / 1024 / 1024).toFixed(1)} MiB`);
  expect(elements).toBeLessThanOrEqual(elementsMax);
  expect(heapBytes).toBeLessThanOrEqual(heapMax);
}

test(`P6 lists of ${sizes.runs} runs and ${sizes.questions} questions are walked to their ends with few elements`, async (context) => {
  if (!isThere) context.skip(absent);
  const { page, faults } = await studio.visit('/', { width: 1920 });
  const list = page.getByRole('list', { name: 'Runs' });
  await list.getByRole('link').first().waitFor();
  // Each time the end is reached, more is loaded.
  await expect
    .poll(
      async () => {
        await page.evaluate('scrollTo(0, document.documentElement.scrollHeight)');
        return list.getByRole('link', { name: /^long/u }).count();
      },
      { timeout: 60_000, interval: 50 },
    )
    .toBe(1);
  expect(await page.locator('.page-head [role=status]').textContent()).toBe(
    sizes.runs.toLocaleString('en').replaceAll(',', '\u202f'),
  );
  await expectSmall(page, `a list of ${sizes.runs} runs`);
  await page.goto(`${studio.url}/inbox`);
  await page.getByRole('article').first().waitFor();
  await page
    .locator('.page-head')
    .getByText(new RegExp(`^${sizes.questions.toLocaleString('en').replace(',', '.')} open$`, 'u'))
    .waitFor();
  await expectSmall(page, `an inbox of ${sizes.questions}`);
  expect(await faultsOf(page)).toEqual([]);
  expect(faults).toEqual([]);
  await page.close();
}, 120_000);

test(`P6 a run over ${sizes.nodes} nodes is folded to what fits, unfolds, and is gone through without long frames`, async (context) => {
  if (!isThere) context.skip(absent);
  const { page, faults } = await studio.visit('/run?id=long');
  const graph = page.getByRole('region', { name: 'Graph' });
  const drawn = graph.getByRole('group', { name: /^Graph of/u }).getByRole('link');
  // What failed is drawn, however much is folded.
  await graph
    .getByRole('link', { name: /, failed/u })
    .first()
    .waitFor();
  expect(await drawn.count()).toBeLessThanOrEqual(300);
  // Each that was reached has its mark, however many there are.
  const unmarked = await page.evaluate(
    '[...document.querySelectorAll(".picture a.box:not(.fold, [data-tone=idle])")].filter((one) => one.querySelector(".mark") === null).length',
  );
  expect(unmarked).toBe(0);
  await expectSmall(page, `a run over ${sizes.nodes} nodes`);
  const fold = graph.getByRole('link', { name: /more nodes: .*show them/u }).first();
  const folded = Number(/(\d+) more/u.exec((await fold.textContent()) ?? '')?.[1]);
  await fold.click();
  await expect.poll(async () => drawn.count()).toBeGreaterThan(10);
  const rest = graph.getByRole('link', { name: /more nodes: .*show them/u }).first();
  await expect.poll(async () => Number(/(\d+) more/u.exec((await rest.textContent()) ?? '')?.[1])).not.toBe(folded);
  await expectSmall(page, 'one fold opened');

  await page.evaluate(`(() => {
    globalThis.frames = [];
    // Own script of a frame: from the input event to the end of its tasks, as the browser times them.
    new PerformanceObserver((list) => { for (const entry of list.getEntries()) frames.push(entry.processingEnd - entry.processingStart); })
      .observe({ type: 'event', durationThreshold: 16 });
  })()`);
  const cost = (await page.evaluate(`(async () => {
    const slider = document.querySelector('input[type=range]');
    const took = [];
    for (let step = 0; step < 120; step += 1) {
      slider.value = String(Math.floor((Number(slider.max) * (step + 1)) / 121));
      const before = performance.now();
      slider.dispatchEvent(new Event('input', { bubbles: true }));
      await new Promise((resolve) => queueMicrotask(resolve));
      took.push(performance.now() - before);
      await new Promise((resolve) => requestAnimationFrame(resolve));
    }
    return took.sort((a, b) => a - b);
  })()`)) as readonly number[];
  const at = (part: number): string => (cost[Math.floor(part * (cost.length - 1))] ?? 0).toFixed(1);
  console.log(
    `studio, own script a frame while scrubbing: ${at(0.5)} ms at the median, ${at(0.95)} ms at the 95th percentile`,
  );

  // Its story is read from the end back, a page at a time, to its beginning.
  await page.goto(`${studio.url}/run?id=long`);
  const story = page.getByRole('list', { name: 'What happened' });
  await story.getByText('The run ended').waitFor();
  await expect
    .poll(
      async () => {
        const more = story.getByRole('button', { name: /Show earlier|earlier: show/u });
        if ((await more.count()) > 0) await more.click();
        return story.getByText('The run began').count();
      },
      { timeout: 60_000, interval: 50 },
    )
    .toBe(1);

  await page.goto(`${studio.url}/run?id=long&tab=timeline`);
  await page.getByRole('list', { name: 'Timeline' }).locator('canvas').first().waitFor({ timeout: 60_000 });
  await expectSmall(page, 'a timeline on canvases');
  expect(faults).toEqual([]);
  await page.close();
}, 120_000);
