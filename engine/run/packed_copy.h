// A packed copy of a model's weights in a file, so that a later load need not pack them again (docs/formats.md).
#pragma once

#include <cstdint>

#include "engine/base/status.h"
#include "engine/base/thread_pool.h"
#include "engine/nn/weights.h"
#include "engine/run/copy_source.h"

namespace bitwin {

// Fills `weights`, whose sizes are those that the GGUF's header asks for, from a copy of `bytes` bytes. Nothing in the
// copy decides how much is read or where it goes: whatever differs from what such a copy must be is a format error, and
// leaves the weights undefined. io error when reading fails.
Status read_packed_copy(const CopySource& source, uint64_t bytes, const ReadCopy& read, ThreadPool& pool,
                        Weights& weights);

// Writes a copy from beginning to end; io error as soon as `write` returns false.
Status write_packed_copy(const CopySource& source, const Weights& weights, ThreadPool& pool, const WriteCopy& write);

}  // namespace bitwin
