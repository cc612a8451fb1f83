#include "server/engine/rules/answers.h"

namespace fairlock::engine {

void Answers::Answer(Pending& pending, const Resolution& resolution, Effects& effects) {
  if (pending.attachment == nullptr) return;
  Attachment& to = *pending.attachment;
  to.pending.erase(to.pending.iterator_to(pending));
  pending.attachment = nullptr;
  effects.resolutions.push_back(resolution);
  effects.resolutions.back().to = &to;
}

void Answers::AnswerPlace(Claim& place, const Resolution& resolution, Step step) {
  NotifyChannel* channel = place.channel();
  Pending& request = RequestOf(place);
  if (channel == nullptr) return Answer(request, resolution, step.effects);
  if (request.attachment == nullptr) return;
  channel->pending.erase(channel->pending.iterator_to(request));
  request.attachment = nullptr;
  events_.SendOutcome(place, resolution, step.now);
}

}  // namespace fairlock::engine
