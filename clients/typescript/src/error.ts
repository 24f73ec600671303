/** A field of a request that is malformed, by its path in the contract. */
export interface FieldViolation { field: string; description: string; reason: string }

/** An error of a call: google.rpc.Status with its details. */
export class StowageError extends Error {
  /** The code of gRPC, such as 3 for INVALID_ARGUMENT. */
  readonly code: number;
  /** The ErrorReason of the contract, such as UNKNOWN_SNAPSHOT; empty for none. */
  readonly reason: string = "";
  readonly metadata: Readonly<Record<string, string>> = {};
  /** The malformed fields of an INVALID_REQUEST. */
  readonly fields: readonly FieldViolation[] = [];
  /** After how many milliseconds the server expects a retry; absent if it expects none. */
  readonly retryAfter?: number;

  constructor(status: StatusJson, options?: ErrorOptions) {
    super(status.message || `code ${status.code}`, options);
    this.name = "StowageError";
    this.code = status.code ?? 2;
    for (const d of status.details ?? []) {
      switch (d["@type"]) {
        case "type.googleapis.com/google.rpc.ErrorInfo":
          this.reason = d.reason ?? "";
          this.metadata = d.metadata ?? {};
          break;
        case "type.googleapis.com/google.rpc.BadRequest":
          this.fields = (d.fieldViolations ?? []).map((v) => ({ field: v.field ?? "", description: v.description ?? "", reason: v.reason ?? "" }));
          break;
        case "type.googleapis.com/google.rpc.RetryInfo":
          this.retryAfter = 1000 * parseFloat(d.retryDelay ?? "0");
      }
    }
    this.details = status.details ?? [];
  }
  /** All details, as JSON has them. */
  readonly details: readonly DetailJson[];
}

/** google.rpc.Status as JSON. */
export interface StatusJson { code?: number; message?: string; details?: DetailJson[] }

/** A detail of google.rpc.Status as JSON. */
export interface DetailJson {
  "@type": string;
  reason?: string;
  domain?: string;
  metadata?: Record<string, string>;
  fieldViolations?: Partial<FieldViolation>[];
  retryDelay?: string;
}
