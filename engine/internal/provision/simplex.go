package provision

import "context"

// linearProgram maximizes the gain within the limits, which are positive.
type linearProgram struct {
	limit, gain []float64
	use         [][]float64 // by limit, then by gain
}

// Where the simplex method ends.
const (
	maxPivots = 400
	tiny      = 1e-9
)

// solve returns amounts by gain, by the simplex method. Wherever it ends, they are within the limits but for rounding. Products
// are rounded before they are added, on every processor alike.
func (p *linearProgram) solve(ctx context.Context) ([]float64, error) {
	limits, gains := len(p.limit), len(p.gain)
	// Columns are gains or, once these are in the basis, slacks of limits.
	column, basis := make([]int, gains), make([]int, limits)
	for j := range column {
		column[j] = j
	}
	for i := range basis {
		basis[i] = gains + i
	}
	for range maxPivots {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		enter := 0
		for j := range p.gain {
			if p.gain[j] > p.gain[enter] {
				enter = j
			}
		}
		if p.gain[enter] <= tiny {
			break
		}
		leave := -1
		for i := range p.limit {
			if p.use[i][enter] > tiny && (leave < 0 || p.limit[i]*p.use[leave][enter] < p.limit[leave]*p.use[i][enter]) {
				leave = i
			}
		}
		if leave < 0 {
			break
		}
		p.pivot(leave, enter)
		column[enter], basis[leave] = basis[leave], column[enter]
	}
	out := make([]float64, gains)
	for i, b := range basis {
		if b < gains {
			out[b] = max(0, p.limit[i])
		}
	}
	return out, nil
}

func (p *linearProgram) pivot(leave, enter int) {
	row := p.use[leave]
	by := 1 / row[enter]
	row[enter] = 1
	for j := range row {
		row[j] *= by
	}
	p.limit[leave] *= by
	for i := range p.use {
		f := p.use[i][enter]
		if i == leave || f == 0 {
			continue
		}
		p.use[i][enter] = 0
		for j := range row {
			p.use[i][j] -= float64(f * row[j])
		}
		p.limit[i] -= float64(f * p.limit[leave])
	}
	f := p.gain[enter]
	p.gain[enter] = 0
	for j := range row {
		p.gain[j] -= float64(f * row[j])
	}
}
