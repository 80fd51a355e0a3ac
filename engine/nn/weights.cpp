#include "engine/nn/weights.h"

#include <cstring>

#include "engine/kernels/layout.h"

namespace bitwin {
namespace {

std::string shape(int64_t rows, int64_t cols) {
  std::string text("[");
  text += std::to_string(cols);
  if (rows != 1) text.append(", ").append(std::to_string(rows));
  return text += ']';
}

// Calls f(std::vector<float>) for all of them; W is Weights, const or not.
template <class W, class F>
void each_vector(W& weights, F&& f) {
  f(weights.output_norm);
  f(weights.rope_factors);
  for (auto& layer : weights.layers)
    for (auto* v :
         {&layer.attention_norm, &layer.q_bias, &layer.k_bias, &layer.v_bias, &layer.output_bias, &layer.ffn_norm})
      f(*v);
}

}  // namespace

size_t Weights::vector_bytes() const {
  size_t bytes = 0;
  each_vector(*this, [&](const std::vector<float>& v) { bytes += v.size() * sizeof(float); });
  return bytes;
}

std::vector<uint8_t> Weights::vectors() const {
  std::vector<uint8_t> bytes(vector_bytes());
  uint8_t* at = bytes.data();
  each_vector(*this, [&](const std::vector<float>& v) {
    const size_t size = v.size() * sizeof(float);
    if (size > 0) std::memcpy(at, v.data(), size);
    at += size;
  });
  return bytes;
}

Status Weights::set_vectors(std::span<const uint8_t> bytes) {
  if (bytes.size() != vector_bytes()) return error(Code::format, "the vectors have another size");
  each_vector(*this, [&](std::vector<float>& v) {
    const size_t size = v.size() * sizeof(float);
    if (size > 0) std::memcpy(v.data(), bytes.data(), size);
    bytes = bytes.subspan(size);
  });
  return Status();
}

Status WeightsBuilder::plan(const ModelConfig& config, std::span<const TensorInfo> tensors) {
  struct Wanted {
    int64_t rows, cols;
    Slot slot;
    bool optional;
  };
  std::unordered_map<std::string, Wanted> wanted;
  const auto matrix = [&](std::string name, int64_t rows, int64_t cols, PackedMatrix* where) {
    wanted.emplace(std::move(name), Wanted{rows, cols, {where, nullptr}, false});
  };
  const auto vector = [&](std::string name, int64_t n, std::vector<float>* where, bool optional) {
    wanted.emplace(std::move(name), Wanted{1, n, {nullptr, where}, optional});
  };

  weights_ = Weights();
  slots_.clear();
  weights_.layers.resize(static_cast<size_t>(config.layers));
  matrix("token_embd.weight", config.vocabulary, config.width, &weights_.embedding);
  if (!config.tied) matrix("output.weight", config.vocabulary, config.width, &weights_.head);
  vector("output_norm.weight", config.width, &weights_.output_norm, false);
  vector("rope_freqs.weight", config.rope_dim / 2, &weights_.rope_factors, true);
  for (int64_t i = 0; i < config.layers; ++i) {
    LayerWeights& layer = weights_.layers[static_cast<size_t>(i)];
    const std::string prefix = "blk." + std::to_string(i) + ".";
    vector(prefix + "attn_norm.weight", config.width, &layer.attention_norm, false);
    matrix(prefix + "attn_q.weight", config.q_width(), config.width, &layer.q);
    matrix(prefix + "attn_k.weight", config.kv_width(), config.width, &layer.k);
    matrix(prefix + "attn_v.weight", config.kv_width(), config.width, &layer.v);
    vector(prefix + "attn_q.bias", config.q_width(), &layer.q_bias, true);
    vector(prefix + "attn_k.bias", config.kv_width(), &layer.k_bias, true);
    vector(prefix + "attn_v.bias", config.kv_width(), &layer.v_bias, true);
    matrix(prefix + "attn_output.weight", config.width, config.q_width(), &layer.output);
    vector(prefix + "attn_output.bias", config.width, &layer.output_bias, true);
    vector(prefix + "ffn_norm.weight", config.width, &layer.ffn_norm, false);
    matrix(prefix + "ffn_gate.weight", config.ffn, config.width, &layer.gate);
    matrix(prefix + "ffn_up.weight", config.ffn, config.width, &layer.up);
    matrix(prefix + "ffn_down.weight", config.width, config.ffn, &layer.down);
  }

  for (const TensorInfo& tensor : tensors) {
    const auto found = wanted.find(tensor.name);
    if (found == wanted.end())
      return error(Code::unsupported, "tensor %s is not part of a %s model as this program knows it",
                   tensor.name.c_str(), config.architecture_name.c_str());
    const Wanted& want = found->second;
    if (tensor.rows() != want.rows || tensor.cols() != want.cols)
      return error(Code::format, "tensor %s has the shape %s, but the model's hyper-parameters ask for %s",
                   tensor.name.c_str(), shape(tensor.rows(), tensor.cols()).c_str(),
                   shape(want.rows, want.cols).c_str());
    if (want.slot.matrix != nullptr) {
      BITWIN_ASSIGN_OR_RETURN(*want.slot.matrix,
                              PackedMatrix::create(tensor.type, want.rows, want.cols, tensor.name.c_str()));
    } else {
      if (packed_format(tensor.type).bits != 0)
        return error(Code::unsupported, "tensor %s is %s; vectors must be F32, F16 or BF16", tensor.name.c_str(),
                     tensor_type_info(tensor.type)->name);
      want.slot.vector->resize(static_cast<size_t>(want.cols));
    }
    slots_.emplace(tensor.name, want.slot);
    wanted.erase(found);
  }
  for (const auto& [name, want] : wanted) {
    if (!want.optional) return error(Code::format, "the file has no tensor %s", name.c_str());
  }
  return allocate(tensors);
}

// One block of memory for all matrices, in the order in which the file has them: what is refused is refused before the
// rest of the file is read, a WebAssembly memory grows once, and huge pages are filled to the end.
Status WeightsBuilder::allocate(std::span<const TensorInfo> tensors) {
  uint64_t total = 0;
  for (const TensorInfo& tensor : tensors) {
    const Slot& slot = slots_.at(tensor.name);
    if (slot.matrix == nullptr) continue;
    if (slot.matrix->bytes() > SIZE_MAX - total)
      return error(Code::out_of_memory, "the weights need more memory than can be addressed");
    total += slot.matrix->bytes();
  }
  BITWIN_ASSIGN_OR_RETURN(weights_.storage, Buffer::allocate_unset(static_cast<size_t>(total), "the weights"));
  uint8_t* memory = weights_.storage.data();
  for (const TensorInfo& tensor : tensors) {
    PackedMatrix* matrix = slots_.at(tensor.name).matrix;
    if (matrix == nullptr) continue;
    matrix->place(memory);
    memory += matrix->bytes();
  }
  return Status();
}

Status WeightsBuilder::add_rows(const TensorInfo& tensor, int64_t first_row, int64_t rows,
                                std::span<const uint8_t> bytes) {
  const auto found = slots_.find(tensor.name);
  if (found == slots_.end()) return error(Code::internal, "tensor %s was not planned", tensor.name.c_str());
  if (found->second.matrix != nullptr)
    return found->second.matrix->pack_rows(*kernel_, pool_, first_row, rows, bytes, tensor.name.c_str());
  if (bytes.size() != tensor.bytes)
    return error(Code::internal, "tensor %s: a vector has come in parts", tensor.name.c_str());
  read_floats(tensor.type, bytes.data(), tensor.cols(), found->second.vector->data());
  return Status();
}

Result<Weights> WeightsBuilder::finish() {
  slots_.clear();
  for (const float factor : weights_.rope_factors) {
    if (!(factor > 0.0f && factor <= 1e30f))
      return error(Code::format, "tensor rope_freqs.weight holds %g; the factors must be positive numbers",
                   static_cast<double>(factor));
  }
  return std::move(weights_);
}

}  // namespace bitwin
