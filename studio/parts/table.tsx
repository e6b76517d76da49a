/** Tables, and lists of facts with their names. */
import type { ComponentChildren, JSX } from 'preact';
import '../style/tables.css';

interface Column<Row> {
  readonly title: string;
  readonly cell: (row: Row) => ComponentChildren;
  /** Whether it names the row. */
  readonly isHead?: true;
}

export interface TableProps<Row> {
  readonly title: string;
  readonly rows: readonly Row[];
  readonly columns: readonly Column<Row>[];
  /** Whether its columns are as wide as each other. */
  readonly isComparing?: boolean;
}

/** A table that scrolls by itself where it is wider than the page. */
export function Table<Row>({ title, rows, columns, isComparing = false }: TableProps<Row>): JSX.Element {
  return (
    <div class="table-box" tabIndex={0} role="group" aria-label={title}>
      <table class={isComparing ? 'table compared' : 'table'}>
        <thead>
          <tr>
            {columns.map((column) => (
              <th scope="col">{column.title}</th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((row) => (
            <tr>
              {columns.map(({ cell, isHead }) => (isHead ? <th scope="row">{cell(row)}</th> : <td>{cell(row)}</td>))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

/** A fact in a list of them. */
export function Fact({ name, value }: { readonly name: string; readonly value: string }): JSX.Element {
  return (
    <div>
      <dt>{name}</dt>
      <dd class="foreign">{value}</dd>
    </div>
  );
}
