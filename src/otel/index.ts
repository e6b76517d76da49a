/** Traces and metrics for OpenTelemetry: `cairn-workflows/otel`. */
export { otel, type OtelOptions, type OtelTelemetry } from './otel.ts';
