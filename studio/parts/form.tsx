/** Forms made from JSON Schemas: a field for each property that has a simple type, and JSON for what has none. */
import type { JSX } from 'preact';
import { useId, useState } from 'preact/hooks';
import { pointerTo, type Faults } from '../data/form-faults.ts';
import { isLongText, typeOf } from '../data/form-values.ts';
import type { JsonSchema } from '../data/types.ts';
import { FileField } from './file-field.tsx';
import { Icon } from './icons.tsx';

export interface FieldProps {
  readonly schema: JsonSchema;
  readonly value: unknown;
  readonly onChange: (value: unknown) => void;
  readonly name?: string;
  readonly isRequired?: boolean;
  /** What it is called where its name is not seen beside it. */
  readonly label?: string;
  /** What is wrong, by places; each is said beside its field. */
  readonly faults?: Faults;
  /** Where this value is in the whole. */
  readonly place?: string;
}

export function Field(props: FieldProps): JSX.Element {
  const { schema, name, isRequired = false, faults, place = '' } = props;
  const id = useId();
  const type = typeOf(schema);
  if (type === 'object') return <Fields {...props} />;
  const fault = faults?.get(place);
  return (
    <div class={`form-field${fault === undefined ? '' : ' faulty'}`}>
      {name !== undefined && (
        <label for={id} class="foreign">
          {schema.title ?? name}
          {isRequired && <span class="quiet"> · required</span>}
        </label>
      )}
      {type === 'list' ? <ListField {...props} /> : <Input {...props} id={id} type={type} />}
      {schema.description !== undefined && <p class="quiet tiny foreign">{schema.description}</p>}
      {fault !== undefined && (
        <p class="tiny toned" data-tone="failed" id={`${id}-fault`}>
          {fault}
        </p>
      )}
    </div>
  );
}

/** A field for each item, one more, one less. */
function ListField({ schema, value, onChange, name = 'item', faults, place = '' }: FieldProps): JSX.Element {
  const items = Array.isArray(value) ? (value as readonly unknown[]) : [];
  const { items: inner = {} } = schema;
  return (
    <ul class="list-field" aria-label={name}>
      {items.map((item, index) => (
        <li class="row" key={index}>
          <div class="grow">
            <Field
              schema={inner}
              value={item ?? undefined}
              onChange={(next) => onChange(items.map((one, at) => (at === index ? (next ?? null) : one)))}
              label={`${name} ${index + 1}`}
              {...(faults !== undefined && { faults })}
              place={pointerTo(place, index)}
            />
          </div>
          <button
            type="button"
            class="button bare icon"
            aria-label={`Remove ${name} ${index + 1}`}
            onClick={() => onChange(items.filter((_, at) => at !== index))}
          >
            <Icon name="close" size={14} />
          </button>
        </li>
      ))}
      <li>
        <button type="button" class="button" onClick={() => onChange([...items, null])}>
          <Icon name="plus" size={14} />
          {`Add to ${name}`}
        </button>
      </li>
    </ul>
  );
}

function Fields({ schema, value, onChange, name, faults, place = '' }: FieldProps): JSX.Element {
  const parts = (typeof value === 'object' && value !== null ? value : {}) as Readonly<Record<string, unknown>>;
  const fields = Object.entries(schema.properties ?? {}).map(([key, inner]) => (
    <Field
      key={key}
      name={key}
      schema={inner}
      value={parts[key]}
      isRequired={schema.required?.includes(key) === true && inner.default === undefined}
      {...(faults !== undefined && { faults })}
      place={pointerTo(place, key)}
      onChange={(next) => {
        const { [key]: _old, ...rest } = parts;
        onChange(next === undefined ? rest : { ...rest, [key]: next });
      }}
    />
  ));
  if (name === undefined) return <div class="form">{fields}</div>;
  return (
    <fieldset class="form">
      <legend class="foreign">{schema.title ?? name}</legend>
      {fields}
    </fieldset>
  );
}

/** Keyboards of phones for formats. */
const keyboards = { email: 'email', uri: 'url' } as const;

function Input({
  schema,
  value,
  onChange,
  type,
  id,
  name = 'value',
  label = name,
  faults,
  place = '',
}: FieldProps & { readonly id: string; readonly type: string }): JSX.Element {
  const isFaulty = faults?.has(place) === true;
  const common = {
    id,
    'aria-label': label,
    ...(isFaulty && { 'aria-invalid': true, 'aria-describedby': `${id}-fault` }),
  };
  if (type === 'file') return <FileField {...common} schema={schema} value={value} onChange={onChange} />;
  if (type === 'choice')
    return (
      <select
        {...common}
        class="field"
        value={value === undefined ? '' : JSON.stringify(value)}
        onChange={({ currentTarget }) =>
          onChange(currentTarget.value === '' ? undefined : JSON.parse(currentTarget.value))
        }
      >
        {value === undefined && <option value="">choose…</option>}
        {schema.enum?.map((option) => (
          <option value={JSON.stringify(option)}>{String(option)}</option>
        ))}
      </select>
    );
  if (type === 'boolean')
    return (
      <input
        {...common}
        type="checkbox"
        class="box-field"
        checked={value === true}
        onChange={({ currentTarget }) => onChange(currentTarget.checked)}
      />
    );
  if (type === 'number' || type === 'integer')
    return (
      <input
        {...common}
        class="field"
        type="number"
        step={type === 'integer' ? 1 : 'any'}
        min={schema.minimum}
        max={schema.maximum}
        value={typeof value === 'number' ? value : ''}
        onInput={({ currentTarget }) => onChange(currentTarget.value === '' ? undefined : currentTarget.valueAsNumber)}
      />
    );
  if (type !== 'string') return <JsonInput {...common} value={value} onChange={onChange} />;
  const text = typeof value === 'string' ? value : '';
  const change = ({ currentTarget }: { readonly currentTarget: HTMLInputElement | HTMLTextAreaElement }): void =>
    onChange(currentTarget.value === '' ? undefined : currentTarget.value);
  const { format } = schema;
  if (format === 'date' || format === 'time')
    return <input {...common} class="field" type={format} value={text} onInput={change} />;
  if (isLongText(schema, text)) return <textarea {...common} class="field" dir="auto" value={text} onInput={change} />;
  const inputMode = keyboards[format as keyof typeof keyboards] ?? 'text';
  return (
    <input
      {...common}
      class="field"
      dir="auto"
      value={text}
      onInput={change}
      autocomplete="off"
      inputMode={inputMode}
    />
  );
}

interface JsonInputProps {
  readonly id?: string;
  readonly 'aria-label': string;
  readonly value: unknown;
  readonly onChange: (value: unknown) => void;
  readonly placeholder?: string;
}

/** A value as JSON. What is not JSON yet is marked, and not taken. */
export function JsonInput({ value, onChange, ...rest }: JsonInputProps): JSX.Element {
  // What was typed stands as long as the value is what it says; a value that comes from elsewhere, such as a default, is shown.
  const [typed, setTyped] = useState<{ readonly text: string; readonly value: unknown; readonly isBad?: true }>();
  const own = typed !== undefined && typed.value === value ? typed : undefined;
  const text = own?.text ?? (value === undefined ? '' : JSON.stringify(value, null, 2));
  return (
    <>
      <textarea
        {...rest}
        class="field"
        spellcheck={false}
        aria-invalid={own?.isBad === true}
        value={text}
        onInput={({ currentTarget }) => {
          const { value: text } = currentTarget;
          try {
            const next: unknown = text.trim() === '' ? undefined : JSON.parse(text);
            setTyped({ text, value: next });
            onChange(next);
          } catch {
            setTyped({ text, value, isBad: true });
          }
        }}
      />
      {own?.isBad === true && (
        <p class="tiny toned" data-tone="failed" role="status">
          This is no JSON yet; texts stand in quotes.
        </p>
      )}
    </>
  );
}
