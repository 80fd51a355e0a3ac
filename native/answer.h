// Streaming one answer to standard output, with Ctrl-C and statistics.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "engine/engine.h"

namespace bitwin::native {

// From now on Ctrl-C stops the answer in progress, and a second one before interrupts_reset() ends the process
// with 130; between answers it is only counted.
void catch_interrupts_for_answers();
int interrupts();
void interrupts_reset();

struct Answer {
  FinishReason finish = FinishReason::none;
  bool began = false;       // at least one token was chosen
  TokenId last_token = -1;  // the one chosen last
};

// Generates the answer to `ids` and writes it, each piece at once, followed by one line end.
// `input_seconds`: what turning the prompt into ids took. `quiet`: no progress while the prompt is processed.
Answer stream_answer(Session& session, std::span<const TokenId> ids, const GenerateOptions& options,
                     double input_seconds, bool quiet);

// The four phases' times and speeds, why the answer ended, seed, kernel, threads and memory, on standard error.
void print_statistics(const Session& session, const ModelInfo& info, const Answer& answer, uint64_t seed);

// Seconds on a monotonic clock.
double now();

}  // namespace bitwin::native
