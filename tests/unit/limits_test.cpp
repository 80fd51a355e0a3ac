// What the figures of a benchmark rest on: the costs are exact; the limits are measured, so only that they are sane.
#include <cmath>
#include <cstdio>
#include <string>

#include "engine/capi.h"
#include "engine/kernels/packed.h"
#include "tests/unit/catch.h"
#include "tests/unit/tiny_engine.h"

namespace bitwin {
namespace {

using testing::load_tiny;
using testing::TinyModelOptions;

constexpr uint64_t kFewBytes = 4 << 20;

// The matrices of all layers, and the output matrix, from the shapes alone.
TokenCost cost_by_shape(const ModelConfig& c, TensorType type, TensorType head) {
  struct Shape {
    int64_t rows, cols;
  };
  const Shape shapes[] = {{c.q_width(), c.width}, {c.kv_width(), c.width}, {c.kv_width(), c.width},
                          {c.width, c.q_width()}, {c.ffn, c.width},        {c.ffn, c.width},
                          {c.width, c.ffn}};
  TokenCost cost;
  for (const auto& [rows, cols] : shapes) {
    cost.weight_bytes += static_cast<uint64_t>(c.layers) * packed_bytes(type, rows, cols);
    cost.macs += static_cast<uint64_t>(c.layers * rows * cols);
  }
  cost.weight_bytes += packed_bytes(head, c.vocabulary, c.width);
  return cost;
}

}  // namespace

TEST_CASE("A token costs the matrices of the layers and the output matrix once, tied or not") {
  for (const bool tied : {true, false}) {
    TinyModelOptions options;
    options.tied = tied;
    options.type = TensorType::q4_k;
    options.embedding_type = TensorType::q6_k;
    const auto model = load_tiny(options);
    const TokenCost expected = cost_by_shape(model->info().config, TensorType::q4_k, TensorType::q6_k);
    CHECK(token_cost(*model).weight_bytes == expected.weight_bytes);
    CHECK(token_cost(*model).macs == expected.macs);
    const uint64_t table =
        tied ? 0 : packed_bytes(TensorType::q6_k, model->info().config.vocabulary, model->info().config.width);
    CHECK(model->info().packed_bytes == expected.weight_bytes + table);
  }
}

TEST_CASE("Every kernel and number of threads has limits") {
  for (const std::string& kernel : kernels()) {
    for (const int threads : {1, 2}) {
      const auto model = load_tiny({}, threads, kernel);
      const auto limits = measure_limits(*model, kFewBytes);
      INFO(kernel << ", " << threads << " threads: " << limits.status().message());
      REQUIRE(limits.ok());
      CHECK(limits->read_bytes_per_second > 1e6);
      CHECK(limits->macs_per_second > 1e6);
      CHECK(std::isfinite(limits->read_bytes_per_second));
      CHECK(std::isfinite(limits->macs_per_second));
    }
  }
}

TEST_CASE("Limits over no bytes, or more than there are, are errors") {
  const auto model = load_tiny();
  CHECK(measure_limits(*model, 0).status().code() == Code::invalid_argument);
  CHECK(measure_limits(*model, UINT64_MAX).status().code() == Code::invalid_argument);
  if constexpr (sizeof(size_t) == 8) CHECK(measure_limits(*model, SIZE_MAX / 4).status().code() == Code::out_of_memory);
}

TEST_CASE("The C ABI gives limits and costs as JSON") {
  const std::vector<uint8_t> file = testing::make_tiny_model({});
  bitwin_loader* loader = bitwin_loader_new(1, nullptr, static_cast<double>(file.size()));
  REQUIRE(bitwin_loader_feed(loader, file.data(), static_cast<uint32_t>(file.size())) == 0);
  bitwin_model* model = bitwin_loader_finish(loader);
  REQUIRE(model != nullptr);
  char* json = bitwin_limits(model, static_cast<double>(kFewBytes));
  REQUIRE(json != nullptr);
  const std::string text = json;
  bitwin_free(json);
  double read = 0, dots = 0;
  REQUIRE(std::sscanf(text.c_str(), R"({"read_bytes_per_second":%lf,"macs_per_second":%lf,)", &read, &dots) == 2);
  CHECK(read > 1e6);
  CHECK(dots > 1e6);
  const TokenCost cost = token_cost(*load_tiny());
  CHECK(text.ends_with(",\"weight_bytes_per_token\":" + std::to_string(cost.weight_bytes) +
                       ",\"macs_per_token\":" + std::to_string(cost.macs) + "}"));

  for (const double bytes : {-1.0, std::nan(""), 1e300}) {
    CHECK(bitwin_limits(model, bytes) == nullptr);
    CHECK(bitwin_last_error_code() == static_cast<int32_t>(Code::invalid_argument));
  }
  bitwin_model_free(model);
}

}  // namespace bitwin
