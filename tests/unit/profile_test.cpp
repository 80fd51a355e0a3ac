#include "engine/nn/profile.h"

#include <numeric>

#include "tests/unit/catch.h"
#include "tests/unit/tiny_engine.h"

namespace bitwin {
namespace {

using testing::load_tiny;
using testing::new_session;
using testing::some_ids;

std::vector<float> evaluate(const std::shared_ptr<const Model>& model, size_t tokens) {
  std::vector<float> logits(static_cast<size_t>(model->info().config.vocabulary));
  REQUIRE(new_session(model, {.chunk = 64})->evaluate(some_ids(tokens), false, logits.data()).ok());
  return logits;
}

}  // namespace

TEST_CASE("A profile has a time for every operation, and no more in all than the passes took") {
  const auto model = load_tiny({}, 2);
  Profile profile;
  REQUIRE(set_profile(*model, &profile).ok());
  evaluate(model, 70);
  CHECK(profile.passes == 2);
  for (size_t i = 0; i < kOperations; ++i) {
    INFO(kOperationNames[i]);
    CHECK(profile.seconds[i] > 0);
  }
  CHECK(profile.other() >= 0);
  CHECK(std::accumulate(profile.seconds.begin(), profile.seconds.end(), 0.0) <= profile.total);
}

TEST_CASE("A pass that wants no logits spends no time on the output head") {
  const auto model = load_tiny();
  const auto session = new_session(model, {.chunk = 64});
  Profile profile;
  REQUIRE(set_profile(*model, &profile).ok());
  GenerateOptions options;
  options.max_tokens = 1;
  REQUIRE(session->begin(some_ids(65), options).ok());
  REQUIRE(session->step().ok());
  CHECK(profile[Operation::down] > 0);
  CHECK(profile[Operation::output_head] == 0);
  REQUIRE(session->step().ok());
  CHECK(profile[Operation::output_head] > 0);
}

TEST_CASE("A profile changes no bit, and stops when it is taken away") {
  const auto model = load_tiny();
  const std::vector<float> expected = evaluate(model, 9);
  Profile profile;
  REQUIRE(set_profile(*model, &profile).ok());
  CHECK(evaluate(model, 9) == expected);
  REQUIRE(set_profile(*model, nullptr).ok());
  const double total = profile.total;
  evaluate(model, 9);
  CHECK(profile.passes == 1);
  CHECK(profile.total == total);
}

}  // namespace bitwin
