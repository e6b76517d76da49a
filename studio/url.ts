/** Where one is: all state of a page is in its address, so that it can be sent to somebody, and Back goes back. */
import { computed, signal } from '@preact/signals';

const here = signal(new URL(location.href));

/** The folder of the page: the interface is at `v1` in it. Pages are one level deep, wherever the studio is mounted. */
export const home: URL = new URL('.', document.baseURI);

/** The name of the page: empty for the list of runs. */
export const page = computed(() => here.value.pathname.slice(home.pathname.length));
const query = computed(() => here.value.searchParams);

export function readParam(name: string): string | undefined {
  return query.value.get(name) ?? undefined;
}

/** A whole number in the address; undefined if it is none. */
export function readNumber(name: string): number | undefined {
  const text = readParam(name);
  return text !== undefined && /^\d{1,12}$/u.test(text) ? Number(text) : undefined;
}

type Params = Readonly<Record<string, string | number | undefined>>;

const pair = (key: string, value: string | number): string => `${encodeURIComponent(key)}=${encodeURIComponent(value)}`;

/** The parameters of this page, as they stand in its address: a page has hundreds of links that differ in one of them. */
const pairs = computed(() => [...query.value].map(([key, value]) => [key, pair(key, value)] as const));

function address(name: string, parts: readonly string[]): string {
  return `./${name}${parts.length === 0 ? '' : `?${parts.join('&')}`}`;
}

function partsOf(params: Params): readonly string[] {
  return Object.entries(params).flatMap(([key, value]) =>
    value === undefined || value === '' ? [] : [pair(key, value)],
  );
}

/** A relative address, for links. */
export const linkTo = (name: string, params: Params = {}): string => address(name, partsOf(params));

export const linkToRun = (runId: string, params: Params = {}): string => linkTo('run', { id: runId, ...params });

/** This page with other parameters; undefined removes one. */
export function linkWith(params: Params): string {
  const others = pairs.value.flatMap(([key, text]) => (Object.hasOwn(params, key) ? [] : [text]));
  return address(page.value, [...others, ...partsOf(params)]);
}

function settle(): void {
  here.value = new URL(location.href);
}

/** @param replaces - whether Back passes over where one is now, as while a slider is dragged */
export function goTo(link: string, { replaces = false }: { readonly replaces?: boolean } = {}): void {
  const to = new URL(link, home);
  const isOtherPage = to.pathname !== here.value.pathname || to.searchParams.get('id') !== query.value.get('id');
  if (to.href === here.value.href) return;
  if (replaces) history.replaceState(null, '', to);
  else history.pushState(null, '', to);
  settle();
  if (isOtherPage) {
    scrollTo(0, 0);
    document.getElementById('main')?.focus({ preventScroll: true });
  }
}

/** Links of the page lead within the page; those with a modifier go where the browser says. */
export function followLinks(): void {
  addEventListener('popstate', settle);
  document.addEventListener('click', (event) => {
    const link = (event.target as Element | null)?.closest?.('a');
    if (!link || event.defaultPrevented || event.button !== 0) return;
    if (event.metaKey || event.ctrlKey || event.shiftKey || event.altKey || link.hasAttribute('target')) return;
    // A link in a picture has no parts of an address.
    const to = new URL(link.getAttribute('href') ?? '', home);
    if (to.origin !== home.origin || !to.pathname.startsWith(home.pathname) || link.hasAttribute('download')) return;
    event.preventDefault();
    if (to.hash !== '') document.getElementById(to.hash.slice(1))?.focus();
    else goTo(to.href);
  });
}
