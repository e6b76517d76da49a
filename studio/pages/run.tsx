import type { JSX } from 'preact';
export function RunPage(): JSX.Element {
  return <div class="page">soon</div>;
}
