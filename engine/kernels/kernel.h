// The interface of the compute kernels: plain data and one table of functions per instruction set.
// Kernel files include this header, engine/base/cpu.h, the fixed-width vector header and intrinsics, nothing else.
// Every kernel computes the same bits (docs/numerics.md).
#pragma once

#include <cstddef>
#include <cstdint>

#include "engine/base/tensor_type.h"

namespace bitwin {

// A packed weight matrix (docs/formats.md): blocks of 16 rows; inside a block, tiles of up to 256 columns.
struct MatrixView {
  TensorType type;
  const uint8_t* data;
  int64_t rows;
  int64_t cols;
  int64_t block_bytes;  // from one block of 16 rows to the next
};

// Rows of activations quantised to 8 bits per group of 32: x[i] ~ q[i] * scale[i / 32]. The tail of the last group is
// zero. A group of all rows lies together, so that a register tile of tokens reads one stream.
struct QuantizedView {
  const int8_t* q;      // [groups][stride][32]
  const float* scale;   // [groups][stride]
  const int32_t* sum;   // [groups][stride][2] sum of q over each 16
  const float* offset;  // [groups][stride] float(sum over 32) * scale, for stored minimums
  int64_t stride;       // rows there is room for, at least the number of tokens
};

// out[token][row] = sum over cols of weight[row][col] * x[token][col] (+ bias[row]) (+ out[token][row]).
struct MatmulArgs {
  MatrixView weights;
  QuantizedView x;       // for quantised weights
  const float* x_float;  // for F32, F16 and BF16 weights: [tokens][x_stride]
  int64_t x_stride;
  int64_t tokens;
  const float* bias;  // [rows], or null: added after the sum
  float* out;         // [tokens][out_stride]
  int64_t out_stride;
  bool accumulate;  // adds to what is in out: out + (sum + bias)
};

// Attention of the query heads that share one key/value head, for one token.
// Keys of 16 positions lie together, [head_dim][16]; values [position][head_dim]; both FP16, in blocks of
// kKvBlock positions reached through a table.
inline constexpr int64_t kKvBlock = 64;
struct AttentionArgs {
  const float* q;               // [group][head_dim], rotated
  int64_t group;                // query heads per key/value head
  int64_t head_dim;             // a multiple of 16
  const uint16_t* const* keys;  // block table: [length / kKvBlock, rounded up]
  const uint16_t* const* values;
  int64_t length;  // positions to attend to, the token's own included
  float scale;     // 1 / sqrt(head_dim)
  float* scores;   // scratch [group][length rounded up to 16]
  float* out;      // [group][head_dim]
};

// Rows of a matrix as a GGUF file has them, to be packed. The first of them begins a block of 16; where the last block
// is not full it is the matrix's last one.
struct PackArgs {
  TensorType type;
  int64_t cols;           // a whole number of the type's blocks
  int64_t rows;           // > 0
  const uint8_t* source;  // [rows][row_bytes]
  int64_t row_bytes;
  uint8_t* out;  // blocks of block_bytes, every byte of which is written
  int64_t block_bytes;
};

inline constexpr int64_t kReadStep = 512;  // bytes

struct KernelTable {
  const char* name;

  // Whether this processor can run it. Called once.
  bool (*supported)();

  // Rows [block_begin * 16, block_end * 16) of a product; F32, F16, BF16 and the eight quantised types.
  void (*matmul)(const MatmulArgs& args, int64_t block_begin, int64_t block_end);

  // Quantises n activations of one row, laid out as in QuantizedView with the row's first group at the pointers and
  // `stride` rows to a group. Returns false when one is NaN or infinite.
  bool (*quantize)(const float* x, int64_t n, int8_t* q, float* scale, int32_t* sum, float* offset, int64_t stride);

  // Whether all n values are finite.
  bool (*finite)(const float* x, int64_t n);

  // out[i] = x[i] / sqrt(mean(x^2) + epsilon) * weight[i]. In place allowed.
  void (*rms_norm)(const float* x, const float* weight, int64_t n, float epsilon, float* out);

  // Rotates the first `dim` values of each of `heads` vectors of head_dim by cos/sin[dim/2].
  // adjacent: pairs (2i, 2i+1), else (i, i + dim/2).
  void (*rope)(float* x, int64_t heads, int64_t head_dim, int64_t dim, const float* cosine, const float* sine,
               bool adjacent);

  // Writes n floats as FP16, round to nearest even, to out[0], out[stride], ...
  void (*store_half)(const float* x, int64_t n, uint16_t* out, int64_t stride);

  // Softmax over scaled scores, then the weighted sum of the values; two passes per head.
  void (*attention)(const AttentionArgs& args);

  // gate[i] = silu(gate[i]) * up[i].
  void (*swiglu)(float* gate, const float* up, int64_t n);

  // Packs the blocks [block_begin, block_end) of `args.rows`. Returns -1, or the first row that has a scale which is not
  // finite.
  int64_t (*pack)(const PackArgs& args, int64_t block_begin, int64_t block_end);

  // What benchmarks compare with: the plain sum of `bytes` bytes as integers (a multiple of kReadStep), eight
  // accumulators, no software prefetch.
  int32_t (*read_sum)(const uint8_t* data, int64_t bytes);

  // `rounds` rounds of byte dot products from registers by the instruction that multiplies batches with weights below
  // 8 bits; returns the multiply-accumulates done. `seed` holds 64 bytes that the compiler does not know; `sum` takes a
  // sum to which 16 further rounds always add the same.
  int64_t (*dot_peak)(int64_t rounds, const int8_t* seed, int32_t* sum);
};

}  // namespace bitwin
