// The module's memory as seen from JavaScript.

/** The part of a module that the heap needs. */
export interface HeapModule {
  wasmMemory: WebAssembly.Memory;
  _bitwin_alloc(bytes: number): number;
  _bitwin_free(data: number): void;
}

/**
 * Views of the module's memory. The memory may grow in any call, and with threads in any call of another thread, which
 * leaves older views behind: take the views anew from here after every call into the module.
 */
export class Heap {
  private bytes_ = new Uint8Array(0);
  private view_ = new DataView(new ArrayBuffer(0));
  private readonly encoder_ = new TextEncoder();
  private readonly decoder_ = new TextDecoder();

  constructor(private readonly module_: HeapModule) {}

  get bytes(): Uint8Array {
    const buffer = this.module_.wasmMemory.buffer;
    if (this.bytes_.buffer !== buffer) {
      this.bytes_ = new Uint8Array(buffer);
      this.view_ = new DataView(buffer);
    }
    return this.bytes_;
  }

  get view(): DataView {
    void this.bytes;
    return this.view_;
  }

  /** Memory of the module, or null when it has no more. Addresses above 2 GiB arrive as negative numbers. */
  allocate(bytes: number): number | null {
    const address = this.module_._bitwin_alloc(Math.max(bytes, 1)) >>> 0;
    return address === 0 ? null : address;
  }

  free(address: number): void {
    this.module_._bitwin_free(address);
  }

  write(address: number, bytes: Uint8Array): void {
    this.bytes.set(bytes, address);
  }

  /** UTF-8 of `text` with a terminating zero. */
  encode(text: string): Uint8Array {
    return this.encoder_.encode(text + '\0');
  }

  /** `size` bytes of UTF-8. */
  text(address: number, size: number): string {
    // A TextDecoder takes no shared memory, so the bytes are copied out first.
    return this.decoder_.decode(this.bytes.slice(address >>> 0, (address >>> 0) + size));
  }

  /** UTF-8 up to the terminating zero. */
  textToZero(address: number): string {
    const start = address >>> 0;
    const end = this.bytes.indexOf(0, start);
    return this.text(start, end - start);
  }
}
