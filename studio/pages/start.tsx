import type { JSX } from 'preact';
export function StartPage(): JSX.Element {
  return <div class="page">soon</div>;
}
