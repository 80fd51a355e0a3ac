#include "native/evaluate.h"

#include <algorithm>
#include <cmath>

#include "native/output.h"
#include "native/progress.h"

namespace bitwin::native {
namespace {

// Below this margin 8-bit activations may choose another token than float32 without being wrong.
constexpr double kMinMargin = 0.2;
// Rows of logits held at once: 32 rows of 150,000 are 19 MB.
constexpr size_t kRows = 32;

// ln of the sum of exp over a row of logits.
double log_sum_exp(std::span<const float> logits) {
  double largest = *std::max_element(logits.begin(), logits.end());
  double sum = 0;
  for (float logit : logits) sum += std::exp(logit - largest);
  return largest + std::log(sum);
}

class Evaluation {
 public:
  Evaluation(const std::shared_ptr<const Model>& model, const Reference& reference, bool quiet)
      : vocabulary_(static_cast<size_t>(model->info().config.vocabulary)),
        rows_(vocabulary_ * kRows),
        progress_("Evaluating", Progress::Unit::tokens, count_tokens(reference), quiet) {
    SessionOptions options;
    for (const ReferencePrompt& prompt : reference.prompts) {
      auto length = static_cast<int64_t>(prompt.ids.size() + prompt.greedy.size());
      options.max_context = std::max(options.max_context, length);
    }
    session_ = value_of(Session::create(model, options));
  }

  void add(const ReferencePrompt& prompt, bool whole_text) {
    session_->reset();
    auto next = prompt.positions.begin();
    for (size_t first = 0; first < prompt.ids.size(); first += kRows) {
      size_t count = std::min(kRows, prompt.ids.size() - first);
      check_status(session_->evaluate({prompt.ids.data() + first, count}, true, rows_.data()));
      for (size_t i = 0; i < count; ++i) {
        size_t position = first + i;
        bool referenced = next != prompt.positions.end() && next->position == static_cast<int64_t>(position);
        bool predicts = whole_text && position + 1 < prompt.ids.size();
        if (!referenced && !predicts) continue;
        double log_sum = log_sum_exp(row(i));
        if (predicts) add_next(row(i)[static_cast<size_t>(prompt.ids[position + 1])] - log_sum);
        if (referenced) compare(row(i), log_sum, *next++);
      }
      add_progress(count);
    }
    follow(prompt, row((prompt.ids.size() - 1) % kRows));
  }

  Score score() {
    progress_.clear();
    Score result;
    if (!divergences_.empty()) {
      double sum = 0;
      for (double divergence : divergences_) sum += divergence;
      auto count = static_cast<double>(divergences_.size());
      result.mean_kl = sum / count;
      std::sort(divergences_.begin(), divergences_.end());
      result.p99_kl = divergences_[static_cast<size_t>(std::ceil(0.99 * count)) - 1];
      result.same_top = static_cast<double>(same_top_) / count;
    }
    if (next_count_ > 0) result.ppl = std::exp(-next_sum_ / static_cast<double>(next_count_));
    if (greedy_steps_ > 0) {
      result.greedy_agreement = static_cast<double>(greedy_agreed_) / static_cast<double>(greedy_steps_);
    }
    return result;
  }

 private:
  static uint64_t count_tokens(const Reference& reference) {
    size_t count = 0;
    for (const ReferencePrompt& prompt : reference.prompts) count += prompt.ids.size() + compared_steps(prompt);
    return count;
  }

  static size_t compared_steps(const ReferencePrompt& prompt) {
    auto unsure =
        std::find_if(prompt.margins.begin(), prompt.margins.end(), [](double margin) { return margin < kMinMargin; });
    return static_cast<size_t>(unsure - prompt.margins.begin());
  }

  std::span<const float> row(size_t index) const { return {rows_.data() + index * vocabulary_, vocabulary_}; }

  void add_progress(size_t tokens) {
    done_ += tokens;
    progress_.update(done_);
  }

  void add_next(double logprob) {
    next_sum_ += logprob;
    ++next_count_;
  }

  void compare(std::span<const float> logits, double log_sum, const ReferencePosition& reference) {
    if (reference.position == 0) return;
    double divergence = 0;
    for (size_t k = 0; k < reference.top_ids.size(); ++k) {
      double expected = reference.top_logprobs[k];
      double actual = logits[static_cast<size_t>(reference.top_ids[k])] - log_sum;
      divergence += std::exp(expected) * (expected - actual);
    }
    divergences_.push_back(divergence);
    same_top_ += Sampler::greedy(logits) == reference.top_ids[0];
  }

  // Continues greedily on its own tokens, not the reference's.
  void follow(const ReferencePrompt& prompt, std::span<const float> last) {
    size_t steps = compared_steps(prompt);
    for (size_t step = 0; step < steps; ++step) {
      TokenId token = Sampler::greedy(last);
      greedy_agreed_ += token == prompt.greedy[step];
      ++greedy_steps_;
      if (step + 1 == steps) break;
      check_status(session_->evaluate({&token, 1}, false, rows_.data()));
      last = row(0);
      add_progress(1);
    }
  }

  size_t vocabulary_;
  std::vector<float> rows_;
  std::unique_ptr<Session> session_;
  Progress progress_;
  uint64_t done_ = 0;
  std::vector<double> divergences_;
  int64_t same_top_ = 0;
  double next_sum_ = 0;
  int64_t next_count_ = 0;
  int64_t greedy_agreed_ = 0, greedy_steps_ = 0;
};

}  // namespace

Score evaluate(const std::shared_ptr<const Model>& model, const Reference& reference, bool quiet) {
  Evaluation evaluation(model, reference, quiet);
  for (const ReferencePrompt& prompt : reference.prompts) evaluation.add(prompt, reference.whole_text);
  return evaluation.score();
}

}  // namespace bitwin::native
