import type { JSX } from 'preact';
export function ForkPage(): JSX.Element {
  return <div class="page">soon</div>;
}
