/** `cairn limits` */
import { perform } from '../../operations/contract/perform.ts';
import { type Command, ofOperation } from '../command.ts';
import { noteNone, type Session } from '../session.ts';
import { printable } from '../../operations/format/terminal.ts';
import { changeLimits, type ChangeLimitInput, type LimitsOutput } from '../../operations/store/limits.ts';
import { withApp } from '../live/follow.ts';
import { formatTable } from '../text/text-table.ts';

const columns = [
  { title: 'LIMIT', canShrink: true },
  { title: 'TAKEN', isRight: true },
  { title: 'OF', isRight: true },
  { title: 'WAITING', isRight: true },
  { title: 'A MINUTE' },
  { title: 'STATE' },
  { title: 'FULLEST', canShrink: true },
] as const;

type Shown = LimitsOutput['limits'][number];

const rateOf = ({ requestsPerMinute, tokensPerMinute }: Shown): string =>
  [
    ...(requestsPerMinute === undefined ? [] : [`${requestsPerMinute} calls`]),
    ...(tokensPerMinute === undefined ? [] : [`${tokensPerMinute} tokens`]),
  ].join(', ');

function rowOf(limit: Shown): readonly string[] {
  const { name, taken, concurrency, waiting, isPaused, set, keys } = limit;
  const state = [isPaused ? 'paused' : '', set === undefined ? '' : 'set by hand'].filter((word) => word !== '');
  const fullest =
    keys.length > 0 && keys[0]?.key !== name ? `${keys[0]?.key ?? ''} (${keys[0]?.waiting ?? 0} wait)` : '';
  const places = concurrency === undefined ? '' : String(concurrency);
  return [name, String(taken), places, String(waiting), rateOf(limit), state.join(', '), fullest].map(printable);
}

async function print(session: Session, { limits }: LimitsOutput): Promise<void> {
  if (limits.length === 0) await noteNone(session, 'No limits here');
  else session.screen.print(formatTable(columns, limits.map(rowOf), session.screen));
}

export const limitsCommand: Command<ChangeLimitInput> = {
  ...ofOperation(changeLimits),
  details:
    'Limits are defined in code (defineLimit) or in the configuration, and hold for all workers of the store. What is set here goes before that, until it is reset; workers heed it within seconds. OF is for each key of a limit: a user, say. A paused limit lets nothing begin; what has a place keeps it.',
  examples: [
    { line: 'cairn limits', does: 'how full they are' },
    { line: 'cairn limits set openai --concurrency 2', does: 'two calls at once, whatever the code says' },
    { line: 'cairn limits pause openai', does: 'nothing begins at this provider' },
    { line: 'cairn limits resume openai', does: 'go on' },
    { line: 'cairn limits reset openai', does: 'as the code says' },
  ],
  execute(session, input) {
    return withApp(session, async (app) => {
      const output = await perform(changeLimits, app, input);
      if (session.isJson) session.printJson(output);
      else await print(session, output);
      return 0;
    });
  },
};
