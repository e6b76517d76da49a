/** Which runs a list shows: what the address says, as parameters of a request and as words. Pure. */

/** Groups of statuses; `all` names none. */
export const views = {
  all: { title: 'All', statuses: [] },
  attention: { title: 'Needs attention', statuses: ['paused', 'failed', 'stopped', 'held', 'damaged'] },
  running: { title: 'Running', statuses: ['running', 'queued', 'answered', 'cancelling'] },
  ended: { title: 'Ended', statuses: ['completed', 'failed', 'cancelled'] },
} as const;
export type View = keyof typeof views;

/** What narrows a list down besides statuses, each a parameter of the address and of the request. */
export const filterNames = ['graph', 'since', 'label', 'error', 'node'] as const;
export type FilterName = (typeof filterNames)[number];

export interface RunFilter {
  readonly view: View;
  /** Those that are chosen one by one; none: those of the view. */
  readonly statuses: readonly string[];
  readonly values: Readonly<Partial<Record<FilterName, string>>>;
}

export function readFilter(read: (name: string) => string | undefined): RunFilter {
  const wanted = read('view') ?? 'all';
  const values = filterNames.flatMap((name) => {
    const value = read(name);
    return value === undefined ? [] : [[name, value] as const];
  });
  return {
    view: Object.hasOwn(views, wanted) ? (wanted as View) : 'all',
    statuses: read('status')?.split(',').filter(Boolean) ?? [],
    values: Object.fromEntries(values),
  };
}

/** The statuses that are asked for; none: all of them. */
export const statusesOf = ({ view, statuses }: RunFilter): readonly string[] =>
  statuses.length > 0 ? statuses : views[view].statuses;

/** The parameters of a request. @param statuses - default: those of the filter */
export function requestOf(filter: RunFilter, statuses: readonly string[] = statusesOf(filter)): string {
  const search = new URLSearchParams(filter.values);
  for (const status of statuses) search.append('status', status);
  return search.toString();
}

/** The same as fields of the operation that changes many runs. */
export function bodyOf(filter: RunFilter): Readonly<Record<string, unknown>> {
  const { label, ...others } = filter.values;
  const statuses = statusesOf(filter);
  return {
    ...others,
    ...(statuses.length > 0 && { status: statuses }),
    ...(label !== undefined && { label: labelOf(label) }),
  };
}

/** The same as words of a command. */
export function wordsOf(filter: RunFilter): readonly string[] {
  const statuses = statusesOf(filter);
  return [
    ...(statuses.length > 0 ? ['--status', statuses.join(',')] : []),
    ...Object.entries(filter.values).flatMap(([name, value]) => [`--${name}`, value]),
  ];
}

const labelForm = /^([^:=]+)[:=](.+)$/su;

/** What is wrong with a label as it was typed; undefined if nothing is. */
export const labelFault = (text: string): string | undefined =>
  text === '' || labelForm.test(text) ? undefined : `A label is a name and a value: user=${text}`;

function labelOf(text: string): Readonly<Record<string, string>> {
  const [, name = '', value = ''] = labelForm.exec(text) ?? [];
  return { [name]: value };
}

/** Whether a run is found by a text: its id, the beginning of its workflow, or of a label's value. Never by what runs say. */
export function isFound(
  {
    runId,
    graphId,
    labels = {},
  }: { readonly runId: string; readonly graphId: string; readonly labels?: Readonly<Record<string, string>> },
  text: string,
): boolean {
  const sought = text.toLowerCase();
  return (
    runId.toLowerCase().includes(sought) ||
    [graphId, ...Object.values(labels)].some((value) => value.toLowerCase().startsWith(sought))
  );
}
