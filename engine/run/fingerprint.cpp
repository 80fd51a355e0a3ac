#include "engine/base/hash.h"
#include "engine/engine.h"
#include "engine/nn/forward.h"
#include "engine/run/guard.h"

namespace bitwin {
namespace {

Result<Fingerprint> compute(const std::shared_ptr<const Model>& model, std::span<const TokenId> prompt, int64_t steps,
                            int64_t chunk) {
  const ModelConfig& config = model->info().config;
  const int64_t context = config.context;
  if (steps < 1)
    return error(Code::invalid_argument, "a fingerprint needs at least one step, not %lld",
                 static_cast<long long>(steps));
  // The last step's token is not evaluated.
  if (steps > context || static_cast<int64_t>(prompt.size()) > context - (steps - 1)) {
    return error(Code::context_full, "%zu tokens and %lld steps do not fit into the model's context of %lld",
                 prompt.size(), static_cast<long long>(steps), static_cast<long long>(context));
  }
  SessionOptions options;
  options.max_context = context;
  options.chunk = chunk == 0 ? Forward::kMaxRows : chunk;
  BITWIN_ASSIGN_OR_RETURN(const std::unique_ptr<Session> session, Session::create(model, options));

  Fingerprint result;
  std::vector<float> logits(static_cast<size_t>(config.vocabulary));
  for (int64_t step = 0; step < steps; ++step) {
    const std::span<const TokenId> ids = step == 0 ? prompt : std::span<const TokenId>(&result.ids.back(), 1);
    BITWIN_RETURN_IF_ERROR(session->evaluate(ids, false, logits.data()));
    result.steps.push_back(hash64(logits.data(), logits.size() * sizeof(float)));
    result.ids.push_back(Sampler::greedy(logits));
  }
  result.all = hash64(result.steps.data(), result.steps.size() * sizeof(uint64_t));
  return result;
}

}  // namespace

Result<Fingerprint> fingerprint(const std::shared_ptr<const Model>& model, std::span<const TokenId> prompt,
                                int64_t steps, int64_t chunk) {
  return guarded([&] { return compute(model, prompt, steps, chunk); });
}

}  // namespace bitwin
