// Bitwin: runs a language model from a GGUF file on the processor at hand.
//
//   auto loader = bitwin::Loader::create({});
//   while (bytes come) loader->feed(bytes);             // pieces of any size
//   auto model = loader->finish();                      // shared, immutable
//   auto session = bitwin::Session::create(model, {});  // one conversation: its cache and its sampler
//   session->begin(ids, {});
//   while (!session->done()) { auto event = session->step(); print(event->text); }
//
// For the same file and ids the logits are bit-identical in every build, with every kernel, any number of threads
// and any chunking of the prompt. Nothing here throws: failures are Status values with a sentence for the user.
// A Model may be shared by several sessions; a Session and a Loader belong to one thread at a time, except stop().
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/base/status.h"
#include "engine/load/config.h"
#include "engine/nn/profile.h"
#include "engine/run/chat.h"
#include "engine/run/copy_source.h"
#include "engine/run/sampler.h"
#include "engine/text/detokenizer.h"
#include "engine/text/tokenizer.h"

namespace bitwin {

struct ModelState;

// The version of the engine, "major.minor.patch".
const char* version();

// Kernel names this build has and this processor supports, best first.
std::vector<std::string> kernels();

struct LoadOptions {
  int threads = 0;         // 0: as many as there are physical cores
  std::string kernel;      // empty: BITWIN_KERNEL, else the best supported
  uint64_t file_size = 0;  // bytes, for early checks and progress; 0 when unknown
  bool vocabulary_only = false;  // read metadata and tokeniser, skip the weights
};

struct ModelInfo {
  ModelConfig config;
  bool has_weights = false;
  uint64_t parameters = 0;     // elements of all tensors
  uint64_t file_bytes = 0;     // up to the end of the last tensor
  uint64_t packed_bytes = 0;   // resident weights
  uint64_t kv_bytes_per_token = 0;
  std::string kernel;
  int threads = 1;
  SamplingOptions sampling;    // the file's own defaults (general.sampling.*), else the engine's
  bool file_sampling = false;  // whether the file names any
  std::string chat_template;   // tokenizer.chat_template, or empty
  struct TypeCount {
    std::string type;
    int64_t tensors = 0;
    uint64_t bytes = 0;
  };
  std::vector<TypeCount> types;
};

class Model {
 public:
  // Made by Loader::finish.
  Model(ModelInfo info, std::shared_ptr<const Tokenizer> tokenizer, std::unique_ptr<ModelState> state);
  ~Model();

  const ModelInfo& info() const { return info_; }
  const std::shared_ptr<const Tokenizer>& tokenizer() const { return tokenizer_; }
  // The weights and what computes on them; null for a file without weights.
  ModelState* state() const { return state_.get(); }

 private:
  ModelInfo info_;
  std::shared_ptr<const Tokenizer> tokenizer_;
  std::unique_ptr<ModelState> state_;
};

// Reads a model from bytes as they arrive; holds packed weights and a few rows of the file, never both copies.
class Loader {
 public:
  static Result<std::unique_ptr<Loader>> create(const LoadOptions& options);
  ~Loader();

  // Takes the next bytes. After an error every further call returns the same error.
  Status feed(std::span<const uint8_t> bytes);

  uint64_t bytes_fed() const;
  uint64_t bytes_needed() const;  // 0 until the header is read
  uint64_t header_bytes() const;  // all before the tensors; 0 until it is read

  // Takes the weights from a packed copy of `bytes` bytes instead of the rest of the file: once the header is read.
  // Errors: io, or format when the copy is damaged or another's; the loader is then of no use any more, and the file has
  // to be read from its beginning with a new one.
  Status restore(const CopySource& source, uint64_t bytes, const ReadCopy& read);

  // All that is wanted has been read; the rest of the file may be left out (vocabulary_only).
  bool complete() const;

  // The file has ended. Errors when something is missing.
  Result<std::shared_ptr<const Model>> finish();

 private:
  Loader();
  struct State;
  std::unique_ptr<State> state_;
};

// Writes a packed copy of the model's weights, for Loader::restore. io error when `write` returns false; unsupported for a
// model without weights.
Status write_copy(const Model& model, const CopySource& source, const WriteCopy& write);

struct SessionOptions {
  int64_t max_context = 0;  // positions, prompt and answer together, up to the model's; 0: the smaller of that and 4096
  int64_t chunk = 0;        // prompt tokens per step, at most 128; 0: chosen by the engine
};

struct GenerateOptions {
  SamplingOptions sampling;
  int64_t max_tokens = -1;        // of the answer; -1: until the context is full
  bool ignore_end = false;        // go on past EOS and EOT
  bool special = false;           // write control tokens into the text
};

enum class FinishReason { none, end_of_text, max_tokens, context_full, stopped };
const char* finish_reason_name(FinishReason reason);

// What one step did.
struct StepEvent {
  int64_t prompt_done = 0;   // prompt tokens evaluated so far
  int64_t prompt_total = 0;
  TokenId token = -1;        // the token that was chosen, or -1 while the prompt is processed
  std::string text;          // the whole characters that became known; may be empty
  FinishReason finish = FinishReason::none;  // other than none: the answer is complete
};

// Where the time of one answer went, in seconds.
struct Timings {
  double input = 0;        // tokenising and rendering, as added by add_input_time
  double first_token = 0;  // prompt processing up to the choice of the first token
  double later_tokens = 0;
  double output = 0;       // detokenising, and what the caller adds by add_output_time
  int64_t prompt_tokens = 0;
  int64_t generated_tokens = 0;
};

class Session {
 public:
  // unsupported for a model without weights.
  static Result<std::unique_ptr<Session>> create(std::shared_ptr<const Model> model, const SessionOptions& options);
  ~Session();

  // Starts an answer to `ids`, appended to what the cache already holds. Nothing is evaluated yet.
  // Errors: invalid_argument (no ids, an id out of range, options), context_full when the ids do not fit (both numbers).
  Status begin(std::span<const TokenId> ids, const GenerateOptions& options);

  // One prompt chunk or one token. After an error, or when done, begin() starts anew.
  Result<StepEvent> step();
  bool done() const;

  // May be called from any thread: the step in progress ends between two layers with FinishReason::stopped.
  void stop();

  // Positions in the cache; reset() forgets them all, truncate() those from `length` on.
  int64_t length() const;
  int64_t max_context() const;
  void reset();
  void truncate(int64_t length);
  // Whether the last token that was chosen (an end token, usually) has been evaluated into the cache; true when none
  // has been chosen.
  bool last_token_cached() const;

  // Evaluates ids at the end of the cache, ending an answer in progress. `logits`: room for one row of `vocabulary`
  // floats per id when `all`, else for one row, that of the last id. After an error the cache is as it was.
  Status evaluate(std::span<const TokenId> ids, bool all, float* logits);

  // The logits the last chosen token was chosen from; empty when none has been chosen.
  std::span<const float> logits() const;

  const Timings& timings() const;
  void add_input_time(double seconds);
  void add_output_time(double seconds);
  uint64_t cache_bytes() const;

 private:
  Session();
  struct State;
  std::unique_ptr<State> state_;
};

// From now on every pass of the model adds its times to *profile; null: no more. A pass with a profile takes some
// microseconds longer. The profile must outlive its use, and be read between steps. unsupported for a model without weights.
Status set_profile(const Model& model, Profile* profile);

// What one token costs at least; zeros for a model without weights.
struct TokenCost {
  uint64_t weight_bytes = 0;  // packed weights that a decode step reads: all matrices, of the embeddings only the head
  uint64_t macs = 0;          // multiply-accumulates of a prompt token: the matrices of the layers
};
TokenCost token_cost(const Model& model);

// What the machine can do at best, to compare a run with.
struct Limits {
  double read_bytes_per_second = 0;
  double macs_per_second = 0;  // of byte dot products
};
// Measures both with the model's kernel and all of its threads, in one to two seconds. Reading: the plain sum of `bytes`
// bytes (rounded up to whole pieces of 1 MiB), allocated as weights are and written once before; byte dots: from
// registers. The best of several passes of each, since whatever disturbs a pass makes it slower. No session may be
// computing meanwhile. Errors: invalid_argument (no bytes, or more than the address space has), out_of_memory,
// unsupported for a model without weights.
inline constexpr uint64_t kLimitBytes = uint64_t{1} << 30;
Result<Limits> measure_limits(const Model& model, uint64_t bytes = kLimitBytes);

// A reproducible run: prompt, then greedy steps. The fingerprint hashes every step's logits' bit patterns.
struct Fingerprint {
  std::vector<TokenId> ids;      // the greedy tokens
  std::vector<uint64_t> steps;   // XXH64 of each step's logits
  uint64_t all = 0;              // XXH64 of the steps' hashes
};
// `chunk` 0: all of the prompt at once, as far as one pass takes it. Errors: invalid_argument (no prompt, no steps, a
// chunk or an id out of range), context_full when the model's context is too short for prompt and steps.
Result<Fingerprint> fingerprint(const std::shared_ptr<const Model>& model, std::span<const TokenId> prompt, int64_t steps,
                                int64_t chunk);

}  // namespace bitwin
