#include "engine/engine.h"

#include "engine/kernels/registry.h"
#include "engine/run/model_state.h"

namespace bitwin {

const char* version() { return BITWIN_VERSION; }

std::vector<std::string> kernels() {
  std::vector<std::string> names;
  for (const KernelTable* kernel : supported_kernels()) names.emplace_back(kernel->name);
  return names;
}

const char* finish_reason_name(FinishReason reason) {
  switch (reason) {
    case FinishReason::none:
      return "none";
    case FinishReason::end_of_text:
      return "end_of_text";
    case FinishReason::max_tokens:
      return "max_tokens";
    case FinishReason::context_full:
      return "context_full";
    case FinishReason::stopped:
      return "stopped";
  }
  return "unknown";
}

Status set_profile(const Model& model, Profile* profile) {
  if (model.state() == nullptr) return Status(Code::unsupported, "a model without weights has no passes to profile");
  model.state()->set_profile(profile);
  return {};
}

Model::Model(ModelInfo info, std::shared_ptr<const Tokenizer> tokenizer, std::unique_ptr<ModelState> state)
    : info_(std::move(info)), tokenizer_(std::move(tokenizer)), state_(std::move(state)) {}
Model::~Model() = default;

}  // namespace bitwin
