#include "engine/nn/forward.h"

#include <cmath>
#include <cstring>
#include <limits>

#include "engine/base/hash.h"
#include "engine/kernels/registry.h"
#include "tests/support/loaded_model.h"
#include "tests/support/tiny_model.h"
#include "tests/unit/catch.h"

namespace bitwin {
namespace {

using testing::LoadedModel;
using testing::make_tiny_model;
using testing::TinyModelOptions;

const std::vector<int32_t> kIds = {65, 66, 300, 7, 7, 7, 120, 255, 0, 311, 42, 13, 99, 100, 101, 102, 200, 201, 33};

std::unique_ptr<LoadedModel> load(const TinyModelOptions& options) {
  auto model = std::make_unique<LoadedModel>();
  const Status status = model->load(make_tiny_model(options));
  INFO(status.message());
  REQUIRE(status.ok());
  return model;
}

struct Engine {
  Engine(const LoadedModel& m, const KernelTable& kernel, int threads) : model(m) {
    auto created = ThreadPool::create(threads);
    REQUIRE(created.ok());
    pool = std::move(created).value();
    auto made = Forward::create(m.config, m.weights, kernel, *pool);
    REQUIRE(made.ok());
    forward = std::move(made).value();
  }

  // The logits of every position of `ids`, evaluated `chunk` rows at a time.
  std::vector<float> logits(const std::vector<int32_t>& ids, size_t chunk) {
    KvSequence sequence(model.config, 256);
    std::vector<float> all(ids.size() * vocabulary());
    for (size_t begin = 0; begin < ids.size(); begin += chunk) {
      std::vector<BatchRow> rows;
      for (size_t i = begin; i < ids.size() && i < begin + chunk; ++i)
        rows.push_back({&sequence, static_cast<int64_t>(i), ids[i], true});
      const Status status = forward->run(rows, all.data() + begin * vocabulary());
      INFO(status.message());
      REQUIRE(status.ok());
    }
    CHECK(sequence.length() == static_cast<int64_t>(ids.size()));
    return all;
  }

  size_t vocabulary() const { return static_cast<size_t>(model.config.vocabulary); }

  const LoadedModel& model;
  std::unique_ptr<ThreadPool> pool;
  std::unique_ptr<Forward> forward;
};

bool same(const std::vector<float>& a, const std::vector<float>& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0;
}

const KernelTable& best() { return *supported_kernels().front(); }

TEST_CASE("logits do not depend on the kernel, the number of threads or the chunk") {
  std::vector<TinyModelOptions> models(4);
  models[1].architecture = "llama";
  models[1].rope_factors = true;
  models[1].biases = false;
  models[2].tied = false;
  models[2].lowest_int8 = true;
  models[2].type = TensorType::q8_0;
  models[3].type = TensorType::f16;
  for (const TinyModelOptions& options : models) {
    const auto model = load(options);
    const auto expected = Engine(*model, *supported_kernels().back(), 1).logits(kIds, 1);
    for (const float x : expected) REQUIRE(std::isfinite(x));
    for (const KernelTable* kernel : supported_kernels())
      for (const int threads : {1, 2, 3}) {
        Engine engine(*model, *kernel, threads);
        for (const size_t chunk : {size_t{1}, size_t{2}, size_t{7}, kIds.size()}) {
          INFO(options.architecture << " " << kernel->name << " threads " << threads << " chunk " << chunk);
          REQUIRE(same(engine.logits(kIds, chunk), expected));
        }
      }
  }
}

TEST_CASE("the bits of the tiny model's logits never change") {
  const auto model = load({});
  const auto logits = Engine(*model, best(), 1).logits(kIds, kIds.size());
  CHECK(hex64(hash64(logits.data(), logits.size() * sizeof(float))) == "896e35fb7d16ce50");
}

TEST_CASE("a row's result depends on its own sequence alone") {
  const auto model = load({});
  Engine engine(*model, best(), 2);
  const std::vector<int32_t> other = {9, 8, 7, 6, 5, 4, 3, 2, 1};
  const auto expected = engine.logits(kIds, 1);
  const auto expected_other = engine.logits(other, 1);
  const size_t n = engine.vocabulary();

  KvSequence a(model->config, 64), b(model->config, 64);
  std::vector<float> logits(32 * n);
  size_t next_a = 0, next_b = 0;
  // Mixed batches: some rows of one, some of the other, in turn.
  while (next_a < kIds.size()) {
    std::vector<BatchRow> rows;
    std::vector<const float*> wanted;
    for (size_t i = 0; i < 5 && next_a < kIds.size(); ++i) {
      rows.push_back({&a, static_cast<int64_t>(next_a), kIds[next_a], true});
      wanted.push_back(expected.data() + next_a++ * n);
      if (next_b < other.size()) {
        rows.push_back({&b, static_cast<int64_t>(next_b), other[next_b], i % 2 == 0});
        if (i % 2 == 0) wanted.push_back(expected_other.data() + next_b * n);
        ++next_b;
      }
    }
    REQUIRE(engine.forward->run(rows, logits.data()).ok());
    for (size_t i = 0; i < wanted.size(); ++i)
      CHECK(std::memcmp(logits.data() + i * n, wanted[i], n * sizeof(float)) == 0);
  }
}

TEST_CASE("a truncated sequence gives the same as one that never went on") {
  const auto model = load({});
  Engine engine(*model, best(), 1);
  const auto expected = engine.logits(kIds, kIds.size());
  const size_t n = engine.vocabulary();
  KvSequence sequence(model->config, 256);
  std::vector<float> logits(128 * n);
  std::vector<BatchRow> rows;
  for (int64_t i = 0; i < 120; ++i) rows.push_back({&sequence, i, i < 5 ? kIds[static_cast<size_t>(i)] : 77, false});
  REQUIRE(engine.forward->run(rows, logits.data()).ok());
  sequence.truncate(5);
  CHECK(sequence.length() == 5);
  CHECK(sequence.blocks() == 1);
  rows.clear();
  for (size_t i = 5; i < kIds.size(); ++i) rows.push_back({&sequence, static_cast<int64_t>(i), kIds[i], true});
  REQUIRE(engine.forward->run(rows, logits.data()).ok());
  CHECK(std::memcmp(logits.data(), expected.data() + 5 * n, (kIds.size() - 5) * n * sizeof(float)) == 0);
}

TEST_CASE("rows that make no sense are refused and leave the sequence as it was") {
  const auto model = load({});
  Engine engine(*model, best(), 1);
  KvSequence sequence(model->config, 8);
  std::vector<float> logits(engine.vocabulary());
  const auto refused = [&](std::vector<BatchRow> rows) {
    const Status status = engine.forward->run(rows, logits.data());
    CHECK(sequence.length() == 0);
    return status.code();
  };
  CHECK(refused({}) == Code::invalid_argument);
  CHECK(refused({{&sequence, 1, 5, false}}) == Code::invalid_argument);
  CHECK(refused({{&sequence, -1, 5, false}}) == Code::invalid_argument);
  CHECK(refused({{&sequence, 0, -1, false}}) == Code::invalid_argument);
  CHECK(refused({{&sequence, 0, static_cast<int32_t>(model->config.vocabulary), false}}) == Code::invalid_argument);
  CHECK(refused({{&sequence, 0, 1, false}, {&sequence, 0, 1, false}}) == Code::invalid_argument);
  CHECK(refused({{&sequence, 0, 1, false}, {&sequence, 2, 1, false}}) == Code::invalid_argument);
  CHECK(refused(std::vector<BatchRow>(static_cast<size_t>(Forward::kMaxRows + 1))) == Code::invalid_argument);
  std::vector<BatchRow> nine;
  for (int64_t i = 0; i < 9; ++i) nine.push_back({&sequence, i, 1, false});
  const Status full = engine.forward->run(nine, logits.data());
  CHECK(full.code() == Code::context_full);
  CHECK(full.message().find("9") != std::string::npos);
  CHECK(full.message().find("8") != std::string::npos);
}

TEST_CASE("a stop takes effect between layers and forgets the rows") {
  const auto model = load({});
  Engine engine(*model, best(), 1);
  KvSequence sequence(model->config, 8);
  std::vector<float> logits(engine.vocabulary());
  const std::vector<BatchRow> rows = {{&sequence, 0, 1, true}};
  std::atomic<bool> stop{true};
  CHECK(engine.forward->run(rows, logits.data(), &stop).code() == Code::cancelled);
  CHECK(sequence.length() == 0);
  stop = false;
  CHECK(engine.forward->run(rows, logits.data(), &stop).ok());
  CHECK(sequence.length() == 1);
}

TEST_CASE("NaN in a layer ends the run with an error that names the layer") {
  const auto model = load({});
  for (const float bad : {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity()}) {
    const float good = model->weights.layers[1].ffn_norm[3];
    model->weights.layers[1].ffn_norm[3] = bad;
    Engine engine(*model, best(), 2);
    KvSequence sequence(model->config, 8);
    std::vector<float> logits(engine.vocabulary());
    const std::vector<BatchRow> rows = {{&sequence, 0, 1, true}};
    const Status status = engine.forward->run(rows, logits.data());
    CHECK(status.code() == Code::non_finite);
    CHECK(status.message().find("layer 1") != std::string::npos);
    CHECK(sequence.length() == 0);
    model->weights.layers[1].ffn_norm[3] = good;
  }
}

}  // namespace
}  // namespace bitwin
