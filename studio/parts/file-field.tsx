/** A file as a value: its bytes as base64, or as a `data:` address, whichever the schema says. */
import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import type { JsonSchema } from '../data/types.ts';
import { bytes } from '../words.ts';

/** What goes into a request without a word; what is larger is better put where the run can fetch it. */
const sizeMax = 5 * 1024 * 1024;

interface FileFieldProps {
  readonly id: string;
  readonly 'aria-label': string;
  readonly schema: JsonSchema;
  readonly value: unknown;
  readonly onChange: (value: unknown) => void;
}

export function FileField({ schema, value, onChange, ...rest }: FileFieldProps): JSX.Element {
  const [words, setWords] = useState<string>();
  const take = (file: File | undefined): void => {
    if (file === undefined) return;
    if (file.size > sizeMax) {
      setWords(`${file.name} has ${bytes(file.size)}, and ${bytes(sizeMax)} is the most.`);
      return onChange(undefined);
    }
    const reader = new FileReader();
    reader.addEventListener('load', () => {
      const address = typeof reader.result === 'string' ? reader.result : '';
      setWords(`${file.name}, ${bytes(file.size)}`);
      onChange(schema.format === 'data-url' ? address : address.slice(address.indexOf(',') + 1));
    });
    reader.addEventListener('error', () => setWords(`${file.name} cannot be read.`));
    reader.readAsDataURL(file);
  };
  return (
    <div class="row wrap file-field">
      <input {...rest} type="file" onChange={({ currentTarget }) => take(currentTarget.files?.[0])} />
      {words !== undefined && (
        <span class="quiet small foreign" role="status">
          {words}
        </span>
      )}
      {value !== undefined && (
        <button type="button" class="button bare" onClick={() => (setWords(undefined), onChange(undefined))}>
          Leave it out
        </button>
      )}
    </div>
  );
}
