/** Forms made from JSON Schemas: a field for each property that has a simple type, and JSON for what has none. */
import type { JSX } from 'preact';
import { useId, useState } from 'preact/hooks';
import type { JsonSchema } from '../data/types.ts';

export interface FieldProps {
  readonly schema: JsonSchema;
  readonly value: unknown;
  readonly onChange: (value: unknown) => void;
  readonly name?: string;
  readonly isRequired?: boolean;
}

const typeOf = ({ type, properties, enum: values }: JsonSchema): string => {
  if (values !== undefined && values.every((value) => typeof value !== 'object')) return 'choice';
  if (properties !== undefined) return 'object';
  const [first = 'json'] = typeof type === 'string' ? [type] : (type ?? []).filter((one) => one !== 'null');
  return ['string', 'number', 'integer', 'boolean'].includes(first) ? first : 'json';
};

/** What a form begins with: defaults of the schema. */
export function defaultsOf(schema: JsonSchema | undefined): unknown {
  if (schema === undefined) return undefined;
  if (schema.default !== undefined) return schema.default;
  if (schema.properties === undefined) return undefined;
  const entries = Object.entries(schema.properties).flatMap(([key, inner]) => {
    const value = defaultsOf(inner);
    return value === undefined ? [] : [[key, value] as const];
  });
  return Object.fromEntries(entries);
}

/** Whether every required part has a value. The server holds the whole against the schema. */
export function isComplete(schema: JsonSchema | undefined, value: unknown): boolean {
  if (schema?.properties === undefined) return schema === undefined || value !== undefined;
  const parts = (value ?? {}) as Readonly<Record<string, unknown>>;
  return Object.entries(schema.properties).every(([key, inner]) =>
    schema.required?.includes(key) === true && inner.default === undefined ? isComplete(inner, parts[key]) : true,
  );
}

export function Field(props: FieldProps): JSX.Element {
  const { schema, name, isRequired = false } = props;
  const id = useId();
  const type = typeOf(schema);
  if (type === 'object') return <Fields {...props} />;
  return (
    <div class="form-field">
      {name !== undefined && (
        <label for={id} class="foreign">
          {schema.title ?? name}
          {isRequired && <span class="quiet"> · required</span>}
        </label>
      )}
      <Input {...props} id={id} type={type} />
      {schema.description !== undefined && <p class="quiet tiny foreign">{schema.description}</p>}
    </div>
  );
}

function Fields({ schema, value, onChange, name }: FieldProps): JSX.Element {
  const parts = (typeof value === 'object' && value !== null ? value : {}) as Readonly<Record<string, unknown>>;
  const fields = Object.entries(schema.properties ?? {}).map(([key, inner]) => (
    <Field
      key={key}
      name={key}
      schema={inner}
      value={parts[key]}
      isRequired={schema.required?.includes(key) === true && inner.default === undefined}
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

function Input({
  schema,
  value,
  onChange,
  type,
  id,
  name = 'value',
}: FieldProps & { readonly id: string; readonly type: string }): JSX.Element {
  const common = { id, 'aria-label': name };
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
  const isLong = (schema.maxLength ?? 0) > 300 || text.length > 80 || text.includes('\n');
  return isLong ? (
    <textarea {...common} class="field" dir="auto" value={text} onInput={change} />
  ) : (
    <input {...common} class="field" dir="auto" value={text} onInput={change} autocomplete="off" />
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
