/** A question for approval: what would be done, as a table; approved as it is, approved with other values, or refused with a reason. */
import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { faultsIn, faultsOfProblem } from '../data/form-faults.ts';
import { schemaOf } from '../data/form-values.ts';
import type { Problem } from '../data/api.ts';
import type { JsonSchema, Wait } from '../data/types.ts';
import { choiceOf, countOf, effectWords } from '../words.ts';
import { Field } from './form.tsx';
import { Inline, LongText } from './value.tsx';

type Values = Readonly<Record<string, unknown>>;

/** What is shown of it, and what of that may be changed. */
interface Proposal {
  readonly values: Values;
  /** Absent: nothing may be changed. */
  readonly schema?: JsonSchema;
  /** Whether an answer has all values, and not the changed ones alone. */
  readonly isWhole: boolean;
}

/** The arguments of a tool, the input of a node, or a command; undefined: the question says it in words alone. */
export function proposalOf({ isApproval, metadata, schema }: Wait): Proposal | undefined {
  if (isApproval !== true || typeof metadata !== 'object' || metadata === null) return undefined;
  const { args, input, argv, edit } = metadata as {
    readonly args?: unknown;
    readonly input?: unknown;
    readonly argv?: readonly string[];
    readonly edit?: readonly string[];
  };
  if (Array.isArray(argv)) return { values: { command: argv.join(' ') }, isWhole: true };
  const fields = args ?? input;
  if (typeof fields !== 'object' || fields === null || Array.isArray(fields)) return undefined;
  const values = fields as Values;
  const form = schema?.anyOf?.find(({ properties }) => properties?.['args'] !== undefined)?.properties?.['args'];
  if (form?.properties === undefined) return { values, isWhole: true };
  // A schema that says nothing of a value is that of what the value is now.
  const known = Object.entries(form.properties).map(
    ([name, own]) => [name, Object.keys(own).length === 0 ? schemaOf(values[name]) : own] as const,
  );
  return { values, schema: { ...form, properties: Object.fromEntries(known) }, isWhole: edit === undefined };
}

/** The question without the values that stand in the table. */
export const promptOf = ({ prompt = '', name }: Wait): string => prompt.split('\n{')[0] || name;

interface ApprovalProps {
  readonly wait: Wait;
  readonly proposal: Proposal;
  readonly isBusy: boolean;
  readonly answer: (value: unknown) => void;
  /** Why the last answer was not taken. */
  readonly problem?: Problem | undefined;
}

export function Approval({ wait, proposal, isBusy, answer, problem }: ApprovalProps): JSX.Element {
  const { values, schema, isWhole } = proposal;
  const [mode, setMode] = useState<'look' | 'edit' | 'refuse'>('look');
  const [edited, setEdited] = useState<unknown>(values);
  const [reason, setReason] = useState('');
  const [isTried, setTried] = useState(false);
  const { allowedInside: allowed } = wait.metadata as { readonly allowedInside?: string };
  const refusal = choiceOf(wait.choices?.[1] ?? 'refuse').value;
  if (mode === 'refuse')
    return (
      <form
        class="stack"
        onSubmit={(event) => {
          event.preventDefault();
          answer(reason === '' ? refusal : { decision: refusal, reason });
        }}
      >
        <Arguments values={values} />
        <label class="form-field">
          Why not, for whoever asks
          <textarea
            class="field words"
            value={reason}
            onInput={({ currentTarget }) => setReason(currentTarget.value)}
          />
        </label>
        <div class="row wrap">
          <button type="submit" class="button danger" disabled={isBusy}>
            Refuse
          </button>
          <button type="button" class="button bare" onClick={() => setMode('look')}>
            Back
          </button>
        </div>
      </form>
    );
  if (mode === 'edit' && schema !== undefined) {
    const next = edited as Values;
    const names = Object.keys(schema.properties ?? {});
    const changed = names.filter((name) => JSON.stringify(next[name]) !== JSON.stringify(values[name]));
    const own = faultsIn(schema, next);
    const faults = own.size === 0 ? faultsOfProblem(problem, '/value/args') : own;
    return (
      <form
        class="stack"
        noValidate
        onSubmit={(event) => {
          event.preventDefault();
          setTried(true);
          if (own.size > 0) return;
          const args = isWhole ? next : Object.fromEntries(changed.map((name) => [name, next[name]]));
          answer(changed.length === 0 ? 'approve' : { decision: 'approve', args });
        }}
      >
        <Field schema={schema} value={next} onChange={setEdited} {...(isTried && { faults })} />
        <div class="row wrap">
          <button type="submit" class="button primary" disabled={isBusy}>
            {changed.length === 0 ? 'Approve' : `Approve with ${countOf(changed.length, 'change')}`}
          </button>
          <button type="button" class="button bare" onClick={() => (setEdited(values), setMode('look'))}>
            Back
          </button>
        </div>
      </form>
    );
  }
  return (
    <>
      <Arguments values={values} />
      {allowed !== undefined && (
        <p class="note small" data-tone="waiting">
          {`It ${effectWords[allowed] ?? allowed} inside, as its agents are allowed to: nobody is asked about that again.`}
        </p>
      )}
      <div class="choices">
        <button type="button" class="button primary" disabled={isBusy} onClick={() => answer('approve')}>
          Approve
        </button>
        {schema !== undefined && (
          <button type="button" class="button" disabled={isBusy} onClick={() => setMode('edit')}>
            Edit
          </button>
        )}
        <button type="button" class="button" disabled={isBusy} onClick={() => setMode('refuse')}>
          Refuse
        </button>
      </div>
    </>
  );
}

/** Values that are read letter by letter. */
const isCode = (name: string, value: string): boolean =>
  /^(?:command|cmd|script|code|sql|query|argv|patch|diff|path|file)$/iu.test(name) || value.includes('\n');

/** Names and values, texts with their own lines. */
function Arguments({ values }: { readonly values: Values }): JSX.Element {
  return (
    <table class="arguments">
      <tbody>
        {Object.entries(values).map(([name, value]) => (
          <tr>
            <th scope="row" class="foreign">
              {name}
            </th>
            <td>
              {typeof value !== 'string' ? (
                <Inline value={value} />
              ) : isCode(name, value) ? (
                <pre class="foreign">{value}</pre>
              ) : (
                <LongText text={value} max={600} />
              )}
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}
