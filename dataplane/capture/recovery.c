// What happens where a format's walk stops: the window ends, or a record is damaged, or the file
// ends. Damage costs the damaged record: the search for the next goes on byte by byte.

#include "capture_priv.h"

// Bytes from the record at the window's start to the next sound ones; 0: none within the limit.
static size_t find_restart(struct capture *capture)
{
	struct byte_source *source = capture->source;
	size_t n_passed = 1;

	while (n_passed <= CAPTURE_SEARCH_BYTES && n_passed < byte_source_left(source)) {
		struct judgement found =
			capture->format->judge_restart(capture, source->next + n_passed);
		if (found.verdict == RECORD_SOUND)
			return n_passed;
		if (found.verdict == RECORD_TOO_SHORT)
			byte_source_more(source, n_passed + found.want);
		else
			n_passed++;
	}
	return 0;
}

static void pass_over(struct capture *capture, size_t n_passed)
{
	struct byte_source *source = capture->source;

	capture_note(capture, CAPTURE_RESYNCHRONISED, byte_source_offset(source, source->next),
		n_passed);
	source->next += n_passed;
}

static void get_past_damage(struct capture *capture)
{
	struct byte_source *source = capture->source;
	size_t n_passed = find_restart(capture);

	capture->format->note_broken(capture, n_passed);
	if (n_passed > 0) {
		pass_over(capture, n_passed);
		return;
	}
	capture_note(capture, CAPTURE_UNREADABLE, byte_source_offset(source, source->next), 0);
	source->next = source->end;
	capture_finish(capture, 0);
}

// The file ends in this record, or so its length says: sound records behind it say otherwise.
static void end_early(struct capture *capture, bool may_be_wrong)
{
	size_t n_passed = may_be_wrong ? find_restart(capture) : 0;

	if (n_passed > 0) {
		capture->format->note_broken(capture, n_passed);
		pass_over(capture, n_passed);
		return;
	}
	capture_finish(capture, byte_source_left(capture->source));
}

void capture_step(struct capture *capture)
{
	struct byte_source *source = capture->source;
	struct judgement judgement = capture->format->judge(capture, source->next);

	switch (judgement.verdict) {
	case RECORD_SOUND:
		return;
	case RECORD_TOO_SHORT:
		byte_source_more(source, judgement.want);
		return;
	case RECORD_ENDS_EARLY:
		end_early(capture, judgement.may_be_wrong);
		return;
	case RECORD_BROKEN:
		get_past_damage(capture);
	}
}
