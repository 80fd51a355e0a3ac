#include "engine/nn/workspace.h"

#include <algorithm>

#include "engine/kernels/layout.h"

namespace bitwin {
namespace {

// Columns per work item of the element-wise steps; a multiple of the group of 32, so that a group is never split.
constexpr int64_t kSegment = 512;

int64_t round_up(int64_t n, int64_t to) { return (n + to - 1) / to * to; }

int64_t segments(int64_t columns) { return (columns + kSegment - 1) / kSegment; }

}  // namespace

Result<Workspace> Workspace::create(const ModelConfig& config, const KernelTable& kernel, ThreadPool& pool,
                                    int64_t max_rows) {
  Workspace w;
  w.config_ = &config;
  w.kernel_ = &kernel;
  w.pool_ = &pool;
  w.tables_.resize(static_cast<size_t>(pool.threads()));

  struct Part {
    float** where;
    int64_t columns;
  };
  const Part parts[] = {{&w.hidden_, config.width}, {&w.normed_, config.width}, {&w.q_, config.q_width()},
                        {&w.k_, config.kv_width()}, {&w.v_, config.kv_width()}, {&w.attended_, config.q_width()},
                        {&w.gate_, config.ffn},     {&w.up_, config.ffn}};
  int64_t total = 0;
  for (const Part& part : parts) total += round_up(max_rows * part.columns, 16);
  BITWIN_ASSIGN_OR_RETURN(w.floats_, Buffer::allocate(static_cast<size_t>(total) * sizeof(float), "the forward pass"));
  float* at = w.floats_.as<float>();
  for (const Part& part : parts) {
    *part.where = at;
    at += round_up(max_rows * part.columns, 16);
  }

  const int64_t widest = std::max({config.width, config.q_width(), config.ffn});
  w.max_groups_ = round_up(widest, 64) / kGroupColumns;
  // Per row and group: 32 quants, two sums, a scale, an offset.
  const int64_t groups = max_rows * w.max_groups_;
  BITWIN_ASSIGN_OR_RETURN(
      w.quantized_, Buffer::allocate(static_cast<size_t>(groups) * (32 + 8 + 4 + 4), "the quantised activations"));
  w.quants_ = w.quantized_.as<int8_t>();
  w.sums_ = reinterpret_cast<int32_t*>(w.quantized_.data() + groups * 32);
  w.scales_ = reinterpret_cast<float*>(w.quantized_.data() + groups * 40);
  w.offsets_ = reinterpret_cast<float*>(w.quantized_.data() + groups * 44);
  return w;
}

Status Workspace::reserve_attention(int64_t positions) {
  if (positions <= attention_positions_) return Status();
  const int64_t target = round_up(positions, 256);
  const int64_t group = config_->heads / config_->kv_heads;
  const size_t bytes = static_cast<size_t>(pool_->threads() * group * target) * sizeof(float);
  BITWIN_ASSIGN_OR_RETURN(scores_, Buffer::allocate(bytes, "the attention scores"));
  for (auto& table : tables_) table.resize(static_cast<size_t>(2 * ((target + kKvBlock - 1) / kKvBlock)));
  attention_positions_ = target;
  return Status();
}

void Workspace::embed(std::span<const BatchRow> rows, const PackedMatrix& embedding) {
  const ProfileScope scope(profile_, Operation::embedding);
  pool_->parallel_for(static_cast<int64_t>(rows.size()), 1, [&](int64_t begin, int64_t end, int) {
    for (int64_t r = begin; r < end; ++r)
      embedding.dequantize_row(rows[static_cast<size_t>(r)].token, hidden_ + r * config_->width);
  });
}

void Workspace::normalize(const float* source, int64_t rows, const std::vector<float>& weight, float epsilon) {
  const ProfileScope scope(profile_, Operation::normalization);
  const int64_t n = config_->width;
  pool_->parallel_for(rows, 1, [&](int64_t begin, int64_t end, int) {
    for (int64_t r = begin; r < end; ++r) kernel_->rms_norm(source + r * n, weight.data(), n, epsilon, normed_ + r * n);
  });
}

bool Workspace::quantize(const float* input, int64_t rows, int64_t columns) {
  const ProfileScope scope(profile_, Operation::quantization);
  std::atomic<bool> finite{true};
  // All rows of a segment go to one thread: their groups lie together. Little work is not worth a second thread.
  pool_->parallel_for(segments(columns), std::max<int64_t>(1, 4 / rows), [&](int64_t begin, int64_t end, int) {
    for (int64_t r = 0; r < rows; ++r) {
      const int64_t column = begin * kSegment;
      const int64_t n = std::min(end * kSegment, columns) - column;
      const int64_t at = column / kGroupColumns * rows + r;
      if (!kernel_->quantize(input + r * columns + column, n, quants_ + at * 32, scales_ + at, sums_ + at * 2,
                             offsets_ + at, rows))
        finite.store(false, std::memory_order_relaxed);
    }
  });
  return finite.load(std::memory_order_relaxed);
}

bool Workspace::multiply(const float* input, int64_t rows, int64_t columns, std::span<const Product> products,
                         Operation operation) {
  bool any_quantized = false;
  int64_t blocks = 0;
  for (const Product& product : products) {
    any_quantized = any_quantized || packed_format(product.weights->view().type).bits != 0;
    blocks += (product.weights->rows() + kBlockRows - 1) / kBlockRows;
  }
  if (any_quantized ? !quantize(input, rows, columns) : !kernel_->finite(input, rows * columns)) return false;

  const ProfileScope scope(profile_, operation);
  // Ranges long enough to stream, short enough to balance unequal cores; whole fours, since a kernel may read four
  // streams at once.
  const int64_t grain = std::clamp<int64_t>((blocks / (pool_->threads() * 8) + 3) / 4 * 4, 4, 64);
  pool_->parallel_for(blocks, grain, [&](int64_t begin, int64_t end, int) {
    int64_t first = 0;
    for (const Product& product : products) {
      const int64_t count = (product.weights->rows() + kBlockRows - 1) / kBlockRows;
      const int64_t from = std::max(begin, first) - first;
      const int64_t to = std::min(end, first + count) - first;
      first += count;
      if (from >= to) continue;
      MatmulArgs args{};
      args.weights = product.weights->view();
      args.x = {quants_, scales_, sums_, offsets_, rows};
      args.x_float = input;
      args.x_stride = columns;
      args.tokens = rows;
      args.bias = product.bias == nullptr || product.bias->empty() ? nullptr : product.bias->data();
      args.out = product.out;
      args.out_stride = product.weights->rows();
      args.accumulate = product.accumulate;
      kernel_->matmul(args, from, to);
    }
  });
  return true;
}

void Workspace::rotate_and_store(std::span<const BatchRow> rows, int64_t layer, const RopeTable& rope) {
  const ProfileScope scope(profile_, Operation::rotation);
  const ModelConfig& c = *config_;
  pool_->parallel_for(static_cast<int64_t>(rows.size()), 1, [&](int64_t begin, int64_t end, int) {
    for (int64_t r = begin; r < end; ++r) {
      const BatchRow& row = rows[static_cast<size_t>(r)];
      const float* cosine = rope.cosine(row.position);
      const float* sine = rope.sine(row.position);
      float* k = k_ + r * c.kv_width();
      const float* v = v_ + r * c.kv_width();
      kernel_->rope(q_ + r * c.q_width(), c.heads, c.head_dim, c.rope_dim, cosine, sine, c.rope_adjacent);
      kernel_->rope(k, c.kv_heads, c.head_dim, c.rope_dim, cosine, sine, c.rope_adjacent);
      const int64_t block = row.position / kKvBlock;
      const int64_t t = row.position % kKvBlock;
      for (int64_t h = 0; h < c.kv_heads; ++h) {
        uint16_t* keys = row.sequence->keys(block, layer, h) + t / 16 * 16 * c.head_dim + t % 16;
        kernel_->store_half(k + h * c.head_dim, c.head_dim, keys, 16);
        kernel_->store_half(v + h * c.head_dim, c.head_dim, row.sequence->values(block, layer, h) + t * c.head_dim, 1);
      }
    }
  });
}

void Workspace::attend(std::span<const BatchRow> rows, int64_t layer) {
  const ProfileScope scope(profile_, Operation::attention);
  const ModelConfig& c = *config_;
  const int64_t group = c.heads / c.kv_heads;
  const float scale = 1.0f / __builtin_sqrtf(static_cast<float>(c.head_dim));
  pool_->parallel_for(static_cast<int64_t>(rows.size()) * c.kv_heads, 1, [&](int64_t begin, int64_t end, int worker) {
    for (int64_t item = begin; item < end; ++item) {
      const int64_t r = item / c.kv_heads;
      const int64_t h = item % c.kv_heads;
      const BatchRow& row = rows[static_cast<size_t>(r)];
      const int64_t length = row.position + 1;
      const int64_t blocks = (length + kKvBlock - 1) / kKvBlock;
      std::vector<const uint16_t*>& table = tables_[static_cast<size_t>(worker)];
      const uint16_t** keys = table.data();
      const uint16_t** values = table.data() + table.size() / 2;
      for (int64_t b = 0; b < blocks; ++b) {
        keys[b] = row.sequence->keys(b, layer, h);
        values[b] = row.sequence->values(b, layer, h);
      }
      const int64_t at = r * c.q_width() + h * group * c.head_dim;
      AttentionArgs args{};
      args.q = q_ + at;
      args.group = group;
      args.head_dim = c.head_dim;
      args.keys = keys;
      args.values = values;
      args.length = length;
      args.scale = scale;
      args.scores = scores_.as<float>() + worker * group * attention_positions_;
      args.out = attended_ + at;
      kernel_->attention(args);
    }
  });
}

void Workspace::activate(int64_t rows) {
  const ProfileScope scope(profile_, Operation::activation);
  const int64_t n = config_->ffn;
  const int64_t per_row = segments(n);
  pool_->parallel_for(rows * per_row, 1, [&](int64_t begin, int64_t end, int) {
    for (int64_t item = begin; item < end; ++item) {
      const int64_t column = item % per_row * kSegment;
      const int64_t at = item / per_row * n + column;
      kernel_->swiglu(gate_ + at, up_ + at, std::min(kSegment, n - column));
    }
  });
}

}  // namespace bitwin
