#pragma once

// For each line on standard input, print one reading of both clocks on standard output, until the
// input ends: whoever asks from another machine, as the host of a guest, compares its clock by when
// it asked and when it was answered. Returns 0 or -EIO.
int answer_questions(void);
