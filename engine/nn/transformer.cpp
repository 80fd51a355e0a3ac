#include "engine/nn/transformer.h"

#include <algorithm>

namespace bitwin {
namespace {

Status non_finite(int64_t layer, const char* where) {
  return error(Code::non_finite, "layer %lld: the input of %s holds a value that is infinite or not a number",
               static_cast<long long>(layer), where);
}

}  // namespace

Pass transformer(const ModelConfig& config, const Weights& weights, const RopeTable& rope, Workspace& work,
                 std::span<const BatchRow> rows, float* logits) {
  const int64_t n = static_cast<int64_t>(rows.size());
  float* x = work.hidden();
  work.embed(rows, weights.embedding);

  for (int64_t i = 0; i < config.layers; ++i) {
    const LayerWeights& layer = weights.layers[static_cast<size_t>(i)];

    work.normalize(x, n, layer.attention_norm, config.norm_epsilon);
    const Product qkv[] = {{&layer.q, &layer.q_bias, work.q(), false},
                           {&layer.k, &layer.k_bias, work.k(), false},
                           {&layer.v, &layer.v_bias, work.v(), false}};
    if (!work.multiply(work.normed(), n, config.width, qkv, Operation::qkv))
      co_return non_finite(i, "attn_q, attn_k and attn_v");
    work.rotate_and_store(rows, i, rope);
    work.attend(rows, i);
    co_yield ExchangePoint::attention;

    const Product output[] = {{&layer.output, &layer.output_bias, x, true}};
    if (!work.multiply(work.attended(), n, config.q_width(), output, Operation::attention_output))
      co_return non_finite(i, "attn_output");
    co_yield ExchangePoint::attention_output;

    work.normalize(x, n, layer.ffn_norm, config.norm_epsilon);
    const Product gate_up[] = {{&layer.gate, nullptr, work.gate(), false}, {&layer.up, nullptr, work.up(), false}};
    if (!work.multiply(work.normed(), n, config.width, gate_up, Operation::gate_up))
      co_return non_finite(i, "ffn_gate and ffn_up");
    work.activate(n);
    co_yield ExchangePoint::feed_forward;

    const Product down[] = {{&layer.down, nullptr, x, true}};
    if (!work.multiply(work.gate(), n, config.ffn, down, Operation::down)) co_return non_finite(i, "ffn_down");
    co_yield ExchangePoint::layer_output;
  }

  // Only the rows that want logits go through the head; they move to the front of the residual stream.
  int64_t wanted = 0;
  for (int64_t r = 0; r < n; ++r) {
    if (!rows[static_cast<size_t>(r)].want_logits) continue;
    if (wanted != r) std::copy_n(x + r * config.width, config.width, x + wanted * config.width);
    ++wanted;
  }
  if (wanted == 0) co_return Status();
  work.normalize(x, wanted, weights.output_norm, config.norm_epsilon);
  const Product head[] = {{&weights.output_matrix(), nullptr, logits, false}};
  if (!work.multiply(work.normed(), wanted, config.width, head, Operation::output_head))
    co_return non_finite(config.layers, "the output matrix");
  co_return Status();
}

}  // namespace bitwin
