/* Bitwin's C ABI: the functions of engine.h as handles and status codes. The WebAssembly module exports these;
 * other languages bind them. Codes are those of bitwin::Code (status.h); 0 is ok. A failed call's message is
 * bitwin_last_error(), valid until the next call that can fail on the same thread. Sizes are in bytes unless said
 * otherwise. Strings are UTF-8. Handles belong to one thread at a time, except for bitwin_session_stop. */
#ifndef BITWIN_CAPI_H
#define BITWIN_CAPI_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct bitwin_loader bitwin_loader;
typedef struct bitwin_model bitwin_model;
typedef struct bitwin_session bitwin_session;

const char* bitwin_version(void);
const char* bitwin_last_error(void);
/* The code that goes with it: for functions that return a handle, which are null on failure. */
int32_t bitwin_last_error_code(void);
/* Names of the kernels that run here, best first, one a line. */
const char* bitwin_kernels(void);

/* Memory for passing data in; null when refused. */
void* bitwin_alloc(uint32_t bytes);
void bitwin_free(void* data);

/* kernel: null or "" for the best. file_size: 0 when unknown. Null on failure. */
bitwin_loader* bitwin_loader_new(int32_t threads, const char* kernel, double file_size);
int32_t bitwin_loader_feed(bitwin_loader* loader, const uint8_t* bytes, uint32_t size);
double bitwin_loader_bytes_needed(const bitwin_loader* loader);
/* Ends the loader in any case. Null on failure. */
bitwin_model* bitwin_loader_finish(bitwin_loader* loader);
void bitwin_loader_free(bitwin_loader* loader);

void bitwin_model_free(bitwin_model* model);
/* JSON text about the model, valid as long as the model: architecture, name, layers, width, heads, kv_heads, context,
 * vocabulary, parameters, packed_bytes, kv_bytes_per_token, kernel, threads, temperature, top_k, top_p, min_p. */
const char* bitwin_model_info(bitwin_model* model);
/* Tokenises `size` bytes. Writes at most `capacity` ids; the result is their whole number, or -code. */
int32_t bitwin_model_tokenize(bitwin_model* model, const char* text, uint32_t size, int32_t parse_special, int32_t add_bos,
                              int32_t* ids, uint32_t capacity);

/* max_context, chunk: 0 for the defaults. Null on failure. */
bitwin_session* bitwin_session_new(bitwin_model* model, uint32_t max_context, uint32_t chunk);
void bitwin_session_free(bitwin_session* session);

typedef struct bitwin_generate_options {
  float temperature;
  int32_t top_k;
  float top_p;
  float min_p;
  uint32_t seed_low, seed_high;
  int32_t max_tokens; /* -1: until the context is full */
  int32_t ignore_end;
} bitwin_generate_options;

/* Adds a user's message (and before the first one a system message, null for none) in ChatML and starts the answer.
 * options: null for the model's own sampling. An answer that fails, or is stopped before its first token, is taken back
 * together with its message. */
int32_t bitwin_session_chat(bitwin_session* session, const char* system, const char* user, const bitwin_generate_options* options);
/* Starts an answer to raw ids. */
int32_t bitwin_session_begin(bitwin_session* session, const int32_t* ids, uint32_t count, const bitwin_generate_options* options);

typedef struct bitwin_step_event {
  uint32_t prompt_done, prompt_total;
  int32_t token;  /* -1 while the prompt is processed */
  int32_t finish; /* 0 none, 1 end of text, 2 maximum tokens, 3 context full, 4 stopped */
  const char* text; /* UTF-8, valid until the next step */
  uint32_t text_size;
} bitwin_step_event;

int32_t bitwin_session_step(bitwin_session* session, bitwin_step_event* event);
void bitwin_session_stop(bitwin_session* session);
/* Forgets the conversation. */
void bitwin_session_reset(bitwin_session* session);
uint32_t bitwin_session_length(const bitwin_session* session);

typedef struct bitwin_timings {
  double input, first_token, later_tokens, output; /* seconds */
  uint32_t prompt_tokens, generated_tokens;
} bitwin_timings;
void bitwin_session_timings(const bitwin_session* session, bitwin_timings* timings);

/* The parity run as JSON: kernel, threads, chunk, prompt_tokens, ids, steps, fingerprint. chunk 0: "all".
 * Null on failure; free with bitwin_free. */
char* bitwin_parity(bitwin_model* model, const int32_t* ids, uint32_t count, uint32_t steps, uint32_t chunk);

/* What the machine can do at best with the model's kernel and threads, and what a token costs, as JSON:
 * read_bytes_per_second, macs_per_second, weight_bytes_per_token, macs_per_token. Reads `bytes` bytes several times;
 * 0: 1 GiB. No session may be computing meanwhile. Null on failure; free with bitwin_free. */
char* bitwin_limits(bitwin_model* model, double bytes);

#ifdef __cplusplus
}
#endif
#endif
