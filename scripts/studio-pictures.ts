/**
 * `node scripts/studio-pictures.ts`: takes the pictures of the studio that its guide shows, of a store that it fills, in Chromium
 * (`CAIRN_CHROMIUM` names one). They are WebP, small enough to be kept with the guide.
 */
import { mkdirSync, writeFileSync } from 'node:fs';
import { hostname } from 'node:os';
import { join } from 'node:path';
import type { Page } from 'playwright-core';
import { runInShop, shopConfig } from '../test/support/studio-shop.ts';
import { absent, StudioServer } from '../test/support/studio.ts';

const root = join(import.meta.dirname, '..');
const folder = join(root, 'docs/guide/pictures');
const bytesMax = 100 * 1024;

/** By the name of the picture: where it is taken, and the list whose fourth row is clicked before. */
const screens: Readonly<Record<string, readonly [path: string, list?: string]>> = {
  'studio-runs': ['/'],
  'studio-run': ['/run?id=order-1042&node=pay'],
  'studio-inbox': ['/inbox'],
  'studio-spans': ['/run?id=letter-7&tab=spans&order=dearest', 'Spans'],
  'studio-compare': ['/compare?a=order-1042&b=order-1042-again'],
};

async function fill(studio: StudioServer): Promise<void> {
  for (const [runId, amount, user] of [
    ['order-1039', 42, 'ann'],
    ['order-1040', 13, 'bo'],
    ['order-1041', 310, 'cem'],
    ['order-1042', 1_800, 'ann'],
  ] as const)
    await runInShop(studio, 'order', runId, { amount }, { user });
  for (const runId of ['letter-6', 'letter-7']) await runInShop(studio, 'letter', runId);
  await runInShop(studio, 'stocktake', 'stocktake-november');
  await runInShop(studio, 'parcel', 'parcel-88', {}, { user: 'bo' });
  await runInShop(studio, 'upkeep', 'upkeep-weekly');
  await studio.call('POST', '/runs/order-1042/checkpoints/0/forks', {
    runId: 'order-1042-again',
    set: { 'input.amount': 180 },
    run: true,
  });
}

/** Puts names in place of what is of this machine alone: its folders, and ids of its processes. */
async function hideMachine(page: Page): Promise<void> {
  await page.evaluate(`(() => {
    const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    for (let node = walker.nextNode(); node !== null; node = walker.nextNode())
      node.data = node.data
        .replaceAll(${JSON.stringify(join(root, 'test/studio/shop'))}, '/srv/shop')
        .replace(new RegExp(${JSON.stringify(`${hostname()}/[\\w/:]+`)}, 'gu'), 'shop-1');
  })()`);
}

/** The page as WebP: the browser itself makes it of its screenshot. */
async function webpOf(page: Page): Promise<Buffer> {
  const png = (await page.screenshot()).toString('base64');
  const data = await page
    .context()
    .newPage()
    .then(async (blank) => {
      const made = (await blank.evaluate(`(async () => {
      const image = new Image();
      image.src = 'data:image/png;base64,${png}';
      await image.decode();
      const canvas = document.createElement('canvas');
      [canvas.width, canvas.height] = [image.width, image.height];
      canvas.getContext('2d').drawImage(image, 0, 0);
      return canvas.toDataURL('image/webp', 0.85);
    })()`)) as string;
      await blank.close();
      return made;
    });
  return Buffer.from(data.slice(data.indexOf(',') + 1), 'base64');
}

const studio = new StudioServer(shopConfig);
try {
  if (!(await studio.open())) throw new Error(absent);
  await fill(studio);
  mkdirSync(folder, { recursive: true });
  const { page } = await studio.visit('/', { width: 1280 });
  for (const [name, [path, list]] of Object.entries(screens)) {
    await page.goto(studio.url + path);
    await page.getByRole('heading').first().waitFor();
    await page.waitForLoadState('networkidle').catch(() => undefined);
    if (list !== undefined) await page.getByRole('list', { name: list }).getByRole('link').nth(3).click();
    await page.waitForFunction('document.querySelector("[aria-busy=true]") === null');
    await hideMachine(page);
    const bytes = await webpOf(page);
    if (bytes.length > bytesMax) throw new Error(`${name} is of ${bytes.length} bytes`);
    writeFileSync(join(folder, `${name}.webp`), bytes);
    process.stdout.write(`${name}.webp ${bytes.length}\n`);
  }
} finally {
  await studio.close();
}
