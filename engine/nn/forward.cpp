#include "engine/nn/forward.h"

#include <algorithm>
#include <vector>

#include "engine/base/system.h"
#include "engine/nn/rope.h"
#include "engine/nn/transformer.h"
#include "engine/nn/workspace.h"

namespace bitwin {
namespace {

class Region {
 public:
  explicit Region(ThreadPool& pool) : pool_(pool) { pool_.begin_region(); }
  ~Region() { pool_.end_region(); }

 private:
  ThreadPool& pool_;
};

// Checks tokens and positions and returns one past the largest position.
Result<int64_t> check_rows(const ModelConfig& config, std::span<const BatchRow> rows) {
  if (rows.empty() || static_cast<int64_t>(rows.size()) > Forward::kMaxRows)
    return error(Code::invalid_argument, "a pass takes 1 to %lld rows, not %zu",
                 static_cast<long long>(Forward::kMaxRows), rows.size());
  int64_t end = 0;
  for (size_t r = 0; r < rows.size(); ++r) {
    const BatchRow& row = rows[r];
    if (row.token < 0 || row.token >= config.vocabulary)
      return error(Code::invalid_argument, "token id %d is outside the vocabulary of %lld", row.token,
                   static_cast<long long>(config.vocabulary));
    const BatchRow* previous = nullptr;
    for (size_t s = r; s-- > 0 && previous == nullptr;)
      if (rows[s].sequence == row.sequence) previous = &rows[s];
    const bool follows = previous == nullptr ? row.position >= 0 && row.position <= row.sequence->length()
                                             : row.position == previous->position + 1;
    if (!follows)
      return error(Code::invalid_argument, "position %lld does not follow a sequence of %lld positions",
                   static_cast<long long>(row.position),
                   static_cast<long long>(previous == nullptr ? row.sequence->length() : previous->position + 1));
    end = std::max(end, row.position + 1);
  }
  return end;
}

}  // namespace

struct Forward::State {
  State(const ModelConfig& c, const Weights& w, ThreadPool& p, Workspace workspace)
      : config(c), weights(w), pool(p), work(std::move(workspace)), rope(c, w.rope_factors) {}

  const ModelConfig& config;
  const Weights& weights;
  ThreadPool& pool;
  Workspace work;
  RopeTable rope;
  Profile* profile = nullptr;
};

Forward::Forward() = default;
Forward::~Forward() = default;

Result<std::unique_ptr<Forward>> Forward::create(const ModelConfig& config, const Weights& weights,
                                                 const KernelTable& kernel, ThreadPool& pool) {
  BITWIN_ASSIGN_OR_RETURN(Workspace work, Workspace::create(config, kernel, pool, kMaxRows));
  std::unique_ptr<Forward> forward(new Forward());
  forward->state_ = std::make_unique<State>(config, weights, pool, std::move(work));
  return forward;
}

Status Forward::run(std::span<const BatchRow> rows, float* logits, const std::atomic<bool>* stop) {
  const system::FloatEnvironment float_environment;
  State& s = *state_;
  const ProfileScope scope(s.profile == nullptr ? nullptr : &s.profile->total);
  if (s.profile != nullptr) ++s.profile->passes;
  BITWIN_ASSIGN_OR_RETURN(const int64_t end, check_rows(s.config, rows));
  for (const BatchRow& row : rows) BITWIN_RETURN_IF_ERROR(row.sequence->reserve(row.position + 1));
  BITWIN_RETURN_IF_ERROR(s.rope.reserve(end));
  BITWIN_RETURN_IF_ERROR(s.work.reserve_attention(end));

  {
    const Region region(s.pool);
    Pass pass = transformer(s.config, s.weights, s.rope, s.work, rows, logits);
    while (pass.resume()) {
      if (stop != nullptr && stop->load(std::memory_order_relaxed)) return Status(Code::cancelled, "stopped");
    }
    BITWIN_RETURN_IF_ERROR(pass.status());
  }
  for (const BatchRow& row : rows) row.sequence->set_length(row.position + 1);
  return Status();
}

void Forward::set_profile(Profile* profile) {
  state_->profile = profile;
  state_->work.set_profile(profile);
}

size_t Forward::scratch_bytes() const { return state_->work.bytes() + state_->rope.bytes(); }

}  // namespace bitwin
